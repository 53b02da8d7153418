public import Dispatch

// Part of Apple's Dispatch. The Dispatch of Linux lacks it.

// On Apple platforms, all protocols of sources are limited to classes.
public protocol DispatchSourceFileSystemObject: DispatchSourceProtocol, AnyObject {
  var handle: Int32 { get }
  var data: DispatchSource.FileSystemEvent { get }
  var mask: DispatchSource.FileSystemEvent { get }
}

extension DispatchSource {
  public class func makeFileSystemObjectSource(
    fileDescriptor: Int32, eventMask: FileSystemEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceFileSystemObject { stub() }
}
