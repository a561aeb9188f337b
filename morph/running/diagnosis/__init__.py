"""The survey behind ``morph info`` and ``morph doctor``: this environment, and its devices."""

from morph.running.diagnosis.survey import Activation, Device, Package, Presence, Survey, survey

__all__ = ["Activation", "Device", "Package", "Presence", "Survey", "survey"]
