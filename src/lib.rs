//! A model application of unjinja.
