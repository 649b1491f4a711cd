//! The objects that JavaScript holds, by number.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::Value;
#[cfg(feature = "full")]
use unjinja_dynamic::{CallIds, Conversation, Request};
use unjinja_dynamic::{Model, Tools};

use crate::chunks::ChunksObject;
use crate::failure::Failure;
use crate::loading::ModelObject;
use crate::turn::TurnObject;

/// Tools that were read once.
#[derive(Clone)]
pub(crate) struct ToolList {
    pub(crate) tools: Tools,
    /// The list as it was given, for the template.
    pub(crate) json: Value,
}

/// A request, and the ids of its calls.
#[cfg(feature = "full")]
pub(crate) struct RequestObject {
    pub(crate) model: Model,
    pub(crate) request: Request,
    pub(crate) call_ids: CallIds,
    /// What the prompt was rendered from.
    pub(crate) conversation: Conversation,
}

/// One object.
pub(crate) enum Object {
    Model(Box<ModelObject>),
    Tools(Box<ToolList>),
    #[cfg(feature = "full")]
    Request(Box<RequestObject>),
    /// Shared with the writers of its chunks.
    Turn(Rc<RefCell<TurnObject>>),
    Chunks(Box<ChunksObject>),
}

/// All objects. A number is used again once its object was removed.
#[derive(Default)]
pub(crate) struct Objects {
    all: Vec<Option<Object>>,
    free: Vec<u32>,
}

fn disposed(what: &str) -> Failure {
    Failure::state(format!("this {what} was disposed of; make another, or dispose of it later"))
}

impl Objects {
    /// Adds an object. Returns its number, which is never 0.
    pub(crate) fn add(&mut self, object: Object) -> u32 {
        if let Some(number) = self.free.pop()
            && let Some(place) = self.all.get_mut(number as usize - 1)
        {
            *place = Some(object);
            return number;
        }
        self.all.push(Some(object));
        u32::try_from(self.all.len()).unwrap_or(0)
    }

    /// Removes an object. Another removal of the same does nothing.
    pub(crate) fn remove(&mut self, number: u32) {
        let place = self.all.get_mut((number as usize).wrapping_sub(1));
        if place.is_some_and(|place| place.take().is_some()) {
            self.free.push(number);
        }
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }

    fn get(&self, number: u32) -> Option<&Object> {
        self.all.get((number as usize).wrapping_sub(1))?.as_ref()
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut Object> {
        self.all.get_mut((number as usize).wrapping_sub(1))?.as_mut()
    }

    pub(crate) fn model(&self, number: u32) -> Result<&Model, Failure> {
        self.loaded(number).map(|loaded| &loaded.model)
    }

    /// A model, and how it was loaded.
    pub(crate) fn loaded(&self, number: u32) -> Result<&ModelObject, Failure> {
        match self.get(number) {
            Some(Object::Model(loaded)) => Ok(loaded),
            _ => Err(disposed("Model")),
        }
    }

    pub(crate) fn tools(&self, number: u32) -> Result<&ToolList, Failure> {
        match self.get(number) {
            Some(Object::Tools(tools)) => Ok(tools),
            _ => Err(disposed("Tools")),
        }
    }

    #[cfg(feature = "full")]
    pub(crate) fn request(&mut self, number: u32) -> Result<&mut RequestObject, Failure> {
        match self.get_mut(number) {
            Some(Object::Request(request)) => Ok(request),
            _ => Err(disposed("Request")),
        }
    }

    pub(crate) fn turn(&self, number: u32) -> Result<&Rc<RefCell<TurnObject>>, Failure> {
        match self.get(number) {
            Some(Object::Turn(turn)) => Ok(turn),
            _ => Err(disposed("Stream")),
        }
    }

    pub(crate) fn chunks(&mut self, number: u32) -> Result<&mut ChunksObject, Failure> {
        match self.get_mut(number) {
            Some(Object::Chunks(chunks)) => Ok(chunks),
            _ => Err(disposed("writer of chunks")),
        }
    }
}
