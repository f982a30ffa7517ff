// Written by etc/build/methods (make manuals) from org.varlink.service.varlink. Edit that, not this.
extension Wire {
    /// Who made the service, and the interfaces it has.
    package enum GetInfo: ControlMethod {
        package static let name = "org.varlink.service.GetInfo"

        package struct Result: Codable, Sendable, Equatable {
            package var vendor: String
            package var product: String
            package var version: String
            package var url: String
            package var interfaces: [String]

            package init(
                vendor: String, product: String, version: String, url: String, interfaces: [String]
            ) {
                self.vendor = vendor
                self.product = product
                self.version = version
                self.url = url
                self.interfaces = interfaces
            }
        }
    }
}
