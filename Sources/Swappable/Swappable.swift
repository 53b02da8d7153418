// The modules that most programs use. SQLite, terminals and synchronization are imported by name.
@_exported public import AppleSupport
@_exported public import ChangeDescriptions
@_exported public import Diffing
@_exported public import FileSources
@_exported public import ListViews
@_exported public import ObservableCollections
@_exported public import ReactiveSignals
@_exported public import SwappableSources
