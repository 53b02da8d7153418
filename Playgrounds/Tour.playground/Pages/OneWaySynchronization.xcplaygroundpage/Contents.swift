import Swappable

