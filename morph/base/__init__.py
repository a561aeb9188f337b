"""Shared by all rooms: messages, errors, the journal of changes, private files, and building C++."""
