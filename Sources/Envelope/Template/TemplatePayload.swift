package import Base

/// The bytes of a batch in the format `template`, before compression: rows in a shape that the backend chose.
package struct TemplatePayload: Sendable {
    private let shape: TemplateShape
    private let deviceID: [UInt8]
    private let installID: [UInt8]
    /// One buffer for all batches.
    private var buffer: [UInt8] = []

    /// - Parameters:
    ///   - deviceID: how the server knows this vehicle; empty when not configured.
    ///   - installID: of this installation.
    package init(shape: TemplateShape, deviceID: String, installID: String) {
        self.shape = shape
        let isJSON = shape.body != .text
        self.deviceID = isJSON ? JSONString.escaped(deviceID) : Array(deviceID.utf8)
        self.installID = isJSON ? JSONString.escaped(installID) : Array(installID.utf8)
    }

    /// Encodes rows. Equal rows always make equal bytes.
    ///
    /// - Parameters:
    ///   - extras: a JSON object, as it was stored with the rows; nil when there are none. What is no JSON object is not
    ///     sent: it could only come from a damaged database.
    ///   - records: locations and events in any order; exactly one unless the shape is an array.
    /// - Returns: nil for another number of records, and for events where there is no template for them.
    package mutating func encode(session: UUIDv7, extras: String?, records: [TemplateRecord]) -> [UInt8]? {
        guard shape.isBatching || records.count == 1,
            shape.geofence != nil || records.allSatisfy({ $0.crossing == nil })
        else { return nil }
        let extras = extras.flatMap { TemplateParser.members(of: $0) } ?? []
        encode(TemplateRecord.inOrder(records), session: session, extras: extras)
        return switch shape.body {
        case .json, .text: buffer
        case .form: FormText.text(of: buffer, limit: shape.isQuery ? TemplateShape.queryLimit : nil)
        }
    }

    /// Gives back the buffer, which has the size of the longest body.
    package mutating func reset() {
        buffer = []
    }

    private mutating func encode(
        _ records: [TemplateRecord], session: UUIDv7, extras: [TemplateParser.Member]
    ) {
        buffer.removeAll(keepingCapacity: true)
        let isJSON = shape.body != .text
        let isRoot = shape.isRecordBody || shape.isArrayBody || !isJSON
        if !isRoot {
            buffer.append(UInt8(ascii: "{"))
            JSONString.append(shape.rootProperty, to: &buffer)
            buffer.append(UInt8(ascii: ":"))
        }
        if shape.isBatching, isJSON { buffer.append(UInt8(ascii: "[")) }
        let locations = renderer(of: shape.location, session: session, extras: extras)
        let events = renderer(of: shape.geofence ?? shape.location, session: session, extras: extras)
        for (index, record) in records.enumerated() {
            if index > 0, isJSON { buffer.append(UInt8(ascii: ",")) }
            if record.crossing == nil {
                locations.append(record, to: &buffer)
            } else {
                events.append(record, to: &buffer)
            }
        }
        if shape.isBatching, isJSON { buffer.append(UInt8(ascii: "]")) }
        if !isRoot {
            shape.params.append(to: &buffer)
            if shape.extras == .root {
                let taken = shape.params.names.union([Array(shape.rootProperty.utf8)])
                buffer.append(contentsOf: Self.fields(extras, without: taken))
            }
            buffer.append(UInt8(ascii: "}"))
        }
    }

    /// What a template's own names, and then params, have taken is not in the extras.
    private func renderer(
        of template: Template, session: UUIDv7, extras: [TemplateParser.Member]
    ) -> Template.Renderer {
        var result = Template.Surroundings(session: session, deviceID: deviceID, installID: installID)
        let params = shape.isRecordBody ? shape.params : nil
        params?.append(to: &result.end)
        let taken = template.names.union(params?.names ?? [])
        switch shape.extras {
        case .none: break
        case .root: if shape.isRecordBody { result.end += Self.fields(extras, without: taken) }
        case .record:
            if template.body == .text {
                result.extras = LineText.fields(extras, without: template.names)
            } else if template.isArray {
                // The guide's way: an object after the last element.
                let fields = Self.fields(extras, without: [])
                if !fields.isEmpty {
                    result.extras = Array(",{".utf8) + Array(fields.dropFirst()) + Array("}".utf8)
                }
            } else if template.room.isNested {
                let fields = Self.fields(extras, without: template.room.names)
                result.extras = Array(template.room.names.isEmpty ? fields.dropFirst() : fields[...])
            } else {
                result.extras = Self.fields(extras, without: taken)
            }
        }
        return Template.Renderer(template, in: result)
    }

    /// Each after a comma.
    private static func fields(_ members: [TemplateParser.Member], without taken: Set<[UInt8]>) -> [UInt8] {
        members.filter { !taken.contains($0.name) }.flatMap { [UInt8(ascii: ",")] + $0.text }
    }
}
