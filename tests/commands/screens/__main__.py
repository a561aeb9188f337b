"""Records the screens anew."""

from tests.commands.screens import main

main()
