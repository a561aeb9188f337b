"""What idioms share."""


def refusal(action, *kinds):
    """Returns the text of the error that an action raises, which must be one of some kinds."""
    try:
        action()
    except kinds as error:
        return str(error)
    raise AssertionError("nothing was refused")
