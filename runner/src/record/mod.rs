//! Between the domain's types and the database's rows.
