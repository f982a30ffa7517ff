internal import CLinux

/// Bytes that went into a TCP socket and were not acknowledged by the machine at the other end; 0 if that is not known.
package func unacknowledgedBytes(_ socket: Int32) -> Int {
    Int(clinux_unacknowledged_bytes(socket))
}
