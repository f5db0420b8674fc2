//! Samples to fitted models.
