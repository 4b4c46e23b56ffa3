//! Builds one side in a directory that does not change the result; builds are cached.
