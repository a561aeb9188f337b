"""Makes what the site says of morph out of morph itself: rooms, commands, tables of evidence."""
