"""The primitives that a schedule can take next, tried on the schedule itself and written as a person would."""
