import sys
import types

import pytest

from morph.base.journal import Journal

if sys.version_info < (3, 11):
    from exceptiongroup import ExceptionGroup


def test_restores_attributes_by_identity_in_reverse_order() -> None:
    original = object()
    owner = types.SimpleNamespace(name=original)
    journal = Journal()
    journal.set_attribute(owner, "name", 1)
    journal.set_attribute(owner, "name", 2)
    journal.set_attribute(owner, "new", 3)
    journal.undo()
    assert owner.name is original
    assert not hasattr(owner, "new")


def test_an_inherited_attribute_is_inherited_again() -> None:
    class Base:
        def method(self) -> str:
            return "base"

    class Derived(Base):
        pass

    journal = Journal()
    journal.set_attribute(Derived, "method", lambda self: "rebound")
    assert Derived().method() == "rebound"
    journal.undo()
    assert "method" not in vars(Derived)


def test_class_members_come_back_unbound() -> None:
    class Owner:
        @staticmethod
        def plain() -> int:
            return 1

        @classmethod
        def of_class(cls) -> int:
            return 2

    before = dict(vars(Owner))
    journal = Journal()
    for name in ("plain", "of_class"):
        journal.set_attribute(Owner, name, None)
    journal.undo()
    assert all(vars(Owner)[name] is before[name] for name in ("plain", "of_class"))


def test_restores_items_and_removes_new_ones() -> None:
    mapping: dict[str, object] = {"old": 1}
    journal = Journal()
    journal.set_item(mapping, "old", 2)
    journal.set_item(mapping, "new", 3)
    journal.undo()
    assert mapping == {"old": 1}


def test_one_failing_step_does_not_keep_the_others_from_being_undone() -> None:
    owner = types.SimpleNamespace(name="old")
    journal = Journal()
    journal.set_attribute(owner, "name", "new")
    journal.on_undo(lambda: 1 / 0)
    with pytest.raises(ExceptionGroup) as caught:
        journal.undo()
    assert owner.name == "old"
    assert isinstance(caught.value.exceptions[0], ZeroDivisionError)


def test_a_change_that_does_not_fit_is_skipped_whole_with_its_reason() -> None:
    owner = types.SimpleNamespace(name="old", kept="old")
    journal = Journal()
    journal.set_attribute(owner, "kept", "new")
    with journal.tolerating("torch.misfit"):
        journal.set_attribute(owner, "name", "new")
        raise LookupError("misfit takes no backend\nand more")
    assert vars(owner) == {"name": "old", "kept": "new"}
    assert journal.skipped == {"torch.misfit": "LookupError: misfit takes no backend"}
    journal.undo()
    assert owner.kept == "old"


def test_an_interrupt_is_no_misfit() -> None:
    journal = Journal()
    with pytest.raises(KeyboardInterrupt), journal.tolerating("torch.misfit"):
        raise KeyboardInterrupt
    assert not journal.skipped
