"""What users hold in their hands: arrays, host values, kernels, launches; ``heald`` names it."""

from heald import types
from heald.api import values

types.publish(
    matrix=values.matrix,
    quaternion=values.quaternion,
    transformation=values.transformation,
    vector=values.vector,
)
