import Base
import Tracking

@testable import Envelope

extension Subject {
    /// A template of the configuration: a fault with a place in it, or JSON for each record.
    static let template = Subject(name: "template") { input in
        guard let text = String(validating: input, as: UTF8.self) else { return }
        let numbers = [Double(input.count), .greatestFiniteMagnitude, .infinity]
        let rows = numbers.flatMap { records($0) }
        for body in TemplateBody.allCases { load(text, body, rows) }
    }

    private static func load(_ text: String, _ body: TemplateBody, _ rows: [TemplateRecord]) {
        do throws(TemplateFault) {
            let template = try Template(text, for: .geofence, as: body)
            for extras in TemplateShape.ExtrasPlace.allCases { send(rows, template, extras) }
        } catch {
            let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
            precondition((1...lines.count).contains(error.line))
            precondition((1...lines[error.line - 1].count + 1).contains(error.column))
            precondition(!error.reason.isEmpty && !error.advice.isEmpty)
        }
    }

    /// Events with and without a position, and a location whose every number is this one or what becomes of it.
    private static func records(_ number: Double) -> [TemplateRecord] {
        guard let coordinate = Coordinate(latitude: -90, longitude: 1e-9),
            let id = UUIDv7(bytes: [UInt8](0..<16))
        else { return [] }
        let crossing = Crossing(
            geofence: "\"\\\u{0}\u{1F}</x>%>😀", kind: .enter, time: Timestamp(milliseconds: .min))
        let event = GeofenceEvent(
            id: id, session: id, crossing: crossing, coordinate: coordinate, accuracy: number)
        let fix = Fix(
            time: Timestamp(milliseconds: .max), mode: 3, coordinate: coordinate, accuracy: number,
            speed: -number,
            bearing: 1 / number, altitude: number)
        let location = Location(id: id, session: id, fix: fix, trigger: .checkIn, motion: .moving)
        return [
            TemplateRecord(event, odometer: number),
            TemplateRecord(GeofenceEvent(id: id, session: id, crossing: crossing)),
            TemplateRecord(location, odometer: number, battery: .init(level: number)),
        ]
    }

    /// What goes out must be JSON to the other reader, too; a form without a byte that would need an escape; and as many
    /// lines as there are records, each of which is a template itself.
    private static func send(
        _ records: [TemplateRecord], _ template: Template, _ extras: TemplateShape.ExtrasPlace
    ) {
        let fields: [String: BodyFields.Value] = template.body == .text ? [:] : ["k\"": .text("\n")]
        guard let id = UUIDv7(bytes: [UInt8](0..<16)), let params = try? BodyFields(fields),
            let shape = try? TemplateShape(
                params: params, extras: extras, batchSize: 1, location: template, geofence: template)
        else { return }
        var payload = TemplatePayload(shape: shape, deviceID: "\"\\", installID: "\u{1}")
        for record in records {
            let body = payload.encode(
                session: id, extras: "{\"a\":{\"b\":[]},\"extras\":\"<%= speed %>\"}", records: [record])
            guard let body else { preconditionFailure("no body") }
            switch template.body {
            case .json: precondition(JSONReader.read(body) != nil)
            case .form:
                precondition(body.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") })
            case .text: precondition(isLine(body))
            }
        }
    }

    /// Whether the body is a line. Its time becomes a tag again: no template can have a time that is fixed.
    private static func isLine(_ body: [UInt8]) -> Bool {
        guard body.last == 0x0A, body.count(where: { $0 == 0x0A }) == 1,
            let space = body.lastIndex(of: UInt8(ascii: " "))
        else { return false }
        let time = String(decoding: body[(space + 1)...].dropLast(), as: UTF8.self)
        var fields = String(decoding: body[..<space], as: UTF8.self)
        // Quotation marks in the value of a tag are read as they are, but are refused where they were written by mistake; and
        // what looks like a tag of a template is none here.
        fields = fields.replacing("<%", with: "<")
        guard Int64(time) != nil else { return false }
        do throws(TemplateFault) {
            _ = try Template(fields + " <%= timestamp.seconds %>", for: .geofence, as: .text)
            return true
        } catch {
            return error.reason.hasPrefix("quotation marks")
                || error.reason.hasPrefix("the template has more")
                || error.reason.hasPrefix("all fields")
        }
    }
}
