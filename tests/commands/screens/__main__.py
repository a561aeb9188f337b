"""Re-records the screens."""

from tests.commands.screens import main

main()
