/// What the settings of a destination say about the body of its requests. Checked as a whole when it is made.
package struct TemplateShape: Equatable, Sendable {
    /// Where the row's extras go.
    package enum ExtrasPlace: String, CaseIterable, Sendable {
        /// Into the object `extras` of the template if it has one, else beside the template's own names.
        case record
        /// Beside the record or the array.
        case root
        case none
    }

    /// What cannot be used together, or not at all.
    package struct Invalid: Error, Equatable, Sendable {
        /// The setting that is to be changed: `root_property`, `params`, `extras_in`, or one of the templates.
        package let key: String
        /// The name of the field that is in the way, for `params`.
        package var field: String?
        /// A sentence for the operator.
        package let reason: String

        package init(key: String, field: String? = nil, reason: String) {
            self.key = key
            self.field = field
            self.reason = reason
        }
    }

    /// A `root_property` by which the record, or the array, is the body.
    package static let bodyItself = "."

    package let rootProperty: String
    package let params: BodyFields
    package let extras: ExtrasPlace
    /// An array of records, however few; otherwise one record in each request.
    package let isBatching: Bool
    package let body: TemplateBody
    /// A form that stands in the url.
    package let isQuery: Bool
    package let location: Template
    /// nil: geofence events are not sent.
    package let geofence: Template?

    /// - Parameters:
    ///   - rootProperty: of JSON; forms and lines have none.
    ///   - batchSize: as configured; 1 makes a record of the body, anything else an array. A form has one record anyway.
    ///   - isQuery: the body is a form, and stands in the url.
    ///   - location: like the other one, made for what its `body` says.
    /// - Throws: the first combination that would send something else than it seems to.
    package init(
        rootProperty: String = "location", params: BodyFields, extras: ExtrasPlace = .record, batchSize: Int,
        isQuery: Bool = false, location: Template, geofence: Template?
    ) throws(Invalid) {
        body = location.body
        self.isQuery = isQuery
        self.rootProperty = location.body == .json ? rootProperty : Self.bodyItself
        self.params = params
        self.extras = extras
        isBatching = batchSize != 1 && location.body != .form
        self.location = location
        self.geofence = geofence
        try check()
    }

    private func check() throws(Invalid) {
        if let complaint = BodyFields.complaint(aboutName: rootProperty) {
            throw Invalid(key: "root_property", reason: complaint)
        }
        guard body != .text else { return try checkLines() }
        guard isRecordBody || isArrayBody else {
            guard !params.names.contains(Array(rootProperty.utf8)) else {
                throw Invalid(
                    key: "params", field: rootProperty,
                    reason: "is where the records are (root_property); choose another name for one of them")
            }
            return
        }
        if isArrayBody || location.isArray || geofence?.isArray == true {
            let why = "where an array is the body (root_property = \".\")"
            if let field = params.fields.first {
                throw Invalid(
                    key: "params", field: field.name, reason: "has no place \(why); remove one of the two")
            }
            if extras == .root {
                throw Invalid(key: "extras_in", reason: "there is no root \(why); use record or none")
            }
        }
        let taken = location.names.union(geofence?.names ?? [])
        if let field = params.fields.first(where: { taken.contains(Array($0.name.utf8)) }) {
            throw Invalid(
                key: "params", field: field.name,
                reason:
                    "is a name in the template, too, and both stand in the body; choose another for one of them"
            )
        }
        if isQuery { try checkLength() }
    }

    private func checkLines() throws(Invalid) {
        if let field = params.fields.first {
            throw Invalid(
                key: "params", field: field.name,
                reason: "has no place beside lines (body = \"text\"); write it into the templates")
        }
        if extras == .root {
            throw Invalid(
                key: "extras_in",
                reason: "there is no root beside lines (body = \"text\"); use record or none")
        }
    }

    /// Bytes that a record hardly exceeds.
    ///
    /// - Parameter extras: those of its row.
    package func recordSize(extras: String?) -> Int {
        let own = max(location.size, geofence?.size ?? 0)
        return self.extras == .record ? own + (extras?.utf8.count ?? 0) : own
    }

    /// Differs whenever the same rows could make another body.
    package var identity: String {
        var texts = [
            rootProperty, params.text, extras.rawValue, "\(isBatching)", location.source,
            geofence?.source ?? "",
        ]
        // Earlier versions knew nothing but JSON, and what they have written down is to stay the same.
        if body != .json { texts.append(body.rawValue) }
        return texts.map { "\($0.utf8.count) \($0)" }.joined(separator: " ")
    }

    /// A record is the body.
    var isRecordBody: Bool { rootProperty == Self.bodyItself && !isBatching && body != .text }
    /// An array of records is the body.
    var isArrayBody: Bool { rootProperty == Self.bodyItself && isBatching && body != .text }

    /// What the templates ask for. With `deviceID` among them, the destination needs a `device_id`.
    package var tags: Set<TemplateTag> { location.tags.union(geofence?.tags ?? []) }
}
