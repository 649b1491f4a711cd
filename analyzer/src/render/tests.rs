//! Python semantics and hostile templates.
