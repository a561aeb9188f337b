"""What ``morph info`` and ``morph doctor`` look at: this environment, and the devices that are there."""

from morph.diagnosis.survey import Activation, Device, Package, Presence, Survey, survey

__all__ = ["Activation", "Device", "Package", "Presence", "Survey", "survey"]
