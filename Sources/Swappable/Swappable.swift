// One import for all that needs no system library.
@_exported public import Diffing
@_exported public import FileSources
@_exported public import ListViews
@_exported public import ObservableCollections
@_exported public import ReactiveSignals
@_exported public import SwappableSources
@_exported public import Synchronizers
@_exported public import TerminalViews
