"""Changes morph in one place at a time and checks whether the tests fail; `README.md` says how to run it."""
