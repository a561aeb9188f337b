"""Changes morph in one place at a time and sees whether the tests notice; `README.md` says how it is run."""
