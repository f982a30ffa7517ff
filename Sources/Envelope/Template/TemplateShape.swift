/// What the settings of a destination say about the body of its requests. Checked as a whole when it is made.
package struct TemplateShape: Equatable, Sendable {
    package enum Method: String, CaseIterable, Sendable {
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
    }

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
        /// The setting that is to be changed: `root_property`, `params` or `extras_in`.
        package let key: String
        /// As a sentence for the operator.
        package let reason: String
    }

    /// A `root_property` by which the record, or the array, is the body.
    package static let bodyItself = "."

    package let method: Method
    package let rootProperty: String
    package let params: BodyFields
    package let extras: ExtrasPlace
    /// An array of records, however few; otherwise one record in each request.
    package let isBatching: Bool
    package let isCompressed: Bool
    package let location: Template
    package let geofence: Template

    /// - Parameters:
    ///   - batchSize: as configured; 1 makes a record of the body, anything else an array.
    /// - Throws: the first combination that would send something else than it seems to.
    package init(
        method: Method = .post, rootProperty: String = "location", params: BodyFields,
        extras: ExtrasPlace = .record, batchSize: Int, isCompressed: Bool = false, location: Template,
        geofence: Template
    ) throws(Invalid) {
        self.method = method
        self.rootProperty = rootProperty
        self.params = params
        self.extras = extras
        isBatching = batchSize != 1
        self.isCompressed = isCompressed
        self.location = location
        self.geofence = geofence
        guard BodyFields.isName(rootProperty) else {
            throw Invalid(
                key: "root_property",
                reason: "a name has 1 to \(BodyFields.nameLimit) characters, without control characters")
        }
        guard isRecordBody || isArrayBody else {
            guard !params.names.contains(Array(rootProperty.utf8)) else {
                throw Invalid(
                    key: "params", reason: "\(rootProperty) is the root_property: choose another name")
            }
            return
        }
        if isArrayBody || location.isArray || geofence.isArray {
            let cure = "name a root_property other than \".\""
            if !params.isEmpty {
                throw Invalid(key: "params", reason: "an array as the body has no place for them: \(cure)")
            }
            if extras == .root {
                throw Invalid(key: "extras_in", reason: "an array as the body has no root for them: \(cure)")
            }
        }
        let taken = location.names.union(geofence.names)
        if let field = params.fields.first(where: { taken.contains(Array($0.name.utf8)) }) {
            throw Invalid(
                key: "params",
                reason: "\(field.name) is a name in the template: choose another, or remove one")
        }
    }

    /// A record is the body.
    var isRecordBody: Bool { rootProperty == Self.bodyItself && !isBatching }
    /// An array of records is the body.
    var isArrayBody: Bool { rootProperty == Self.bodyItself && isBatching }

    /// What the templates ask for. With `deviceID` among them, the destination needs a `device_id`.
    package var tags: Set<TemplateTag> { location.tags.union(geofence.tags) }
}
