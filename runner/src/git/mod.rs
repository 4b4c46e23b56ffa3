//! Git: the user's repository (read only), our mirror of it, and worktrees.
