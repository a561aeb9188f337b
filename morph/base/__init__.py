"""What all rooms share: messages, errors, the journal of changes, private files, and building C++."""
