// Without import Hummingbird: the package Playgrounds/LiveService compiles it
// Without @main: the package Playgrounds/LiveService compiles it
// Without ApplicationProtocol: the package Playgrounds/LiveService compiles it
// Only at the top level
