internal import CLinux

/// What this program was started with, also where there is no /proc.
package enum Arguments {
    /// The program's name first, if it was given one.
    package static var all: [String] {
        (0..<max(clinux_argument_count(), 0)).compactMap { index in
            clinux_argument(index).map { String(cString: $0) }
        }
    }
}
