/// The shape of one record, a location or a geofence event, in the body of a request: JSON, or a line, with tags.
///
/// The output is JSON whatever the values, by construction: the text is parsed as JSON, in which a tag is either a part of
/// a string, where its value is written with escapes, or, if a number or a boolean, a whole value. A tag can stand nowhere
/// else, so no value can end a string, join a number or repeat a name. Of a line of InfluxDB the same is true.
package struct Template: Equatable, Sendable {
    /// Which records it is for.
    package enum Kind: Sendable { case location, geofence }

    /// Bytes; the default records have fewer than 600.
    package static let sizeLimit = 8192
    /// Levels of objects and arrays. The body adds two, and readers allow 32 and more.
    package static let depthLimit = 16
    /// With the longest values, this bounds what a record can grow to: some 40 kB.
    package static let tagLimit = 100

    /// What a record is written from, in order.
    enum Piece: Equatable, Sendable {
        /// A range of `literals`.
        case literal(Range<Int>)
        case tag(TemplateTag)
        /// Rounded to a whole number, in a line; never of one that is unknown.
        case integer(TemplateTag)
        /// At the end of a line, in a unit that is so much finer.
        case time(TemplateTag, scale: Int64)
        /// A text of others in a line, which has places that escape differently.
        case escaped(TemplateTag, LineText.Place)
        /// When the tag is unknown, that many pieces after this one are left out, with one of the commas around them.
        case optional(TemplateTag, count: Int)
        /// Where the row's extras belong.
        case extras
        /// Before the end of the outermost object, where params belong if the record is the body.
        case end
    }

    /// Where the row's extras belong.
    struct ExtrasRoom: Equatable, Sendable {
        /// Names that are there already, in UTF-8: they win.
        var names: Set<[UInt8]> = []
        /// An object `extras` of the template itself; otherwise the outermost object.
        var isNested = false
    }

    /// The text as it was written.
    package let source: String
    package let body: TemplateBody
    let isArray: Bool
    /// Names in the outermost object, or of a line's tags and fields, in UTF-8.
    let names: Set<[UInt8]>
    let room: ExtrasRoom
    let literals: [UInt8]
    let pieces: [Piece]

    /// - Throws: the first fault, with its place.
    package init(_ text: String, for kind: Kind, as body: TemplateBody = .json) throws(TemplateFault) {
        var parser = TemplateParser(Array(text.utf8), tags: kind, body: body)
        switch body {
        case .json, .form: try parser.parse()
        case .text: try parser.parseLine()
        }
        source = text
        self.body = body
        isArray = parser.isArray
        names = parser.keys.union(parser.members.map(\.name))
        room = parser.room ?? ExtrasRoom(names: names)
        literals = parser.text
        pieces = parser.pieces
    }

    /// Bytes that a record hardly exceeds, without extras: few values have more than 64.
    var size: Int { literals.count + 64 * pieces.count }

    /// The tags that the template has.
    package var tags: Set<TemplateTag> {
        Set(
            pieces.compactMap {
                switch $0 {
                case .tag(let tag), .integer(let tag), .time(let tag, _), .escaped(let tag, _): tag
                case .literal, .optional, .extras, .end: nil
                }
            })
    }
}
