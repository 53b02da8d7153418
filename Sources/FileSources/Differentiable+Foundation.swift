public import Diffing
public import Foundation

extension UUID: Differentiable, BitwiseIdentity {}
extension URL: Differentiable {}
extension Date: Differentiable {}
extension Data: Differentiable {}
extension Decimal: Differentiable {}
