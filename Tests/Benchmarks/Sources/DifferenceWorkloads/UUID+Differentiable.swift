public import Foundation
public import Swappable

extension UUID: @retroactive Differentiable {}
