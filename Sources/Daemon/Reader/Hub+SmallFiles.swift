internal import Glibc
internal import Linux
internal import Storage

extension Hub {
    /// Returns the content of a small file; reports when it was unusable.
    ///
    /// - Parameter otherwise: what follows when there is no content, for the operator.
    func content<Content>(of reading: SmallFiles.Reading<Content>, otherwise: String) -> Content? {
        if let trouble = reading.trouble {
            board.note(damaged: trouble.name)
            let loss = reading.content == nil ? ": " + otherwise : ""
            Log.error(.fileDamaged, trouble.text + loss)
        }
        return reading.content
    }

    /// Writes to the state directory. On a full disk the reserved space is released, and the write tried once more.
    func makingRoom(_ write: () throws(SystemError) -> Void) throws(SystemError) {
        do {
            try write()
        } catch {
            guard error.code == ENOSPC, store.makeRoom() else { throw error }
            try write()
        }
    }
}
