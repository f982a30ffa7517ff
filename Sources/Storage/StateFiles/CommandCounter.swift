/// The highest number of a list of signed commands that have been begun: none of an earlier list is, whatever becomes of the
/// database. No file: none has ever been begun.
package struct CommandCounter: SmallFileContent, Equatable {
    /// Unix milliseconds of its issue, as the server says.
    package var counter: Int64

    package init(counter: Int64) {
        self.counter = counter
    }

    package static var fileName: String { SmallFiles.Name.commands }

    package var isSound: Bool { counter > 0 }
}
