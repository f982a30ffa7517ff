internal import Hummingbird
internal import NIOCore

/// `GET /v1/openapi.json`: what this server understands (OpenAPI 3.1). A test compares it with the routes.
enum Description {
    static var response: Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text + "\n")))
    }

    static let text = #"""
        {"openapi":"3.1.0","info":{"title":"beekon-server","version":"0.2.0","description":"The backend of beekond: uploads, devices and where they have been."},
        "paths":{
        "/v1/batches":{"post":{"operationId":"upload","summary":"Stores a batch of locations (etc/envelope.schema.json). Answered when it can no longer be lost.",
        "security":[{"device":[]}],"responses":{"200":{"description":"Stored, or known already.",
        "content":{"application/json":{"schema":{"type":"object","required":["batch_id","stored",
        "duplicates","expired"],"properties":{"batch_id":{"type":"string"},"stored":{"type":"integer"},
        "duplicates":{"type":"integer"},"expired":{"type":"integer"},"commands":{"type":"array"},
        "signed":{"type":"string"},"signature":{"type":"string"}}}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"405":
        {"$ref":"#/components/responses/405"},"413":{"$ref":"#/components/responses/413"},"415":{
        "$ref":"#/components/responses/415"},"503":{"$ref":"#/components/responses/503"}},"requestBody":
        {"required":true,"content":{"application/json":{"schema":{"type":"object"}}}}}},
        "/v1/logs":{"post":{"operationId":"uploadLog","summary":"Takes the log of a vehicle.","security":
        [{"device":[]}],"responses":{"204":{"description":"Kept."},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"405":
        {"$ref":"#/components/responses/405"},"413":{"$ref":"#/components/responses/413"},"415":{
        "$ref":"#/components/responses/415"},"503":{"$ref":"#/components/responses/503"}},"requestBody":
        {"required":false,"content":{"text/plain":{"schema":{"type":"string"}}}}}},
        "/v1/token":{"post":{"operationId":"exchangeToken","summary":"Exchanges a refresh token (RFC 6749, section 6).",
        "security":[],"responses":{"200":{"description":"The next pair.","content":{"application/json":
        {"schema":{"type":"object","required":["access_token","token_type","expires_in","refresh_token"]}}}},
        "400":{"description":"Refused.","content":{"application/json":{"schema":{"type":"object",
        "properties":{"error":{"type":"string"},"error_description":{"type":"string"}}}},"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},
        "405":{"$ref":"#/components/responses/405"},"413":{"$ref":"#/components/responses/413"},"503":
        {"$ref":"#/components/responses/503"}},"requestBody":{"required":true,"content":{"application/x-www-form-urlencoded":
        {"schema":{"type":"object","required":["grant_type","refresh_token"],"properties":{"grant_type":
        {"const":"refresh_token"},"refresh_token":{"type":"string"}}}},"application/json":{"schema":
        {"type":"object","required":["grant_type","refresh_token"],"properties":{"grant_type":{"const":
        "refresh_token"},"refresh_token":{"type":"string"}}}}}}}},
        "/v1/enroll":{"post":{"operationId":"enroll","summary":"Makes a device with a claim code.",
        "security":[],"responses":{"201":{"description":"The device.","content":{"application/json":
        {"schema":{"$ref":"#/components/schemas/Tokens"}},"application/toml":{"schema":{"type":"string"}}}},
        "400":{"$ref":"#/components/responses/400"},"403":{"$ref":"#/components/responses/403"},"405":
        {"$ref":"#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{
        "$ref":"#/components/responses/413"},"503":{"$ref":"#/components/responses/503"}},"requestBody":
        {"required":true,"content":{"application/json":{"schema":{"type":"object","required":["code",
        "name"],"properties":{"code":{"type":"string"},"name":{"$ref":"#/components/schemas/Name"},
        "nonce":{"$ref":"#/components/schemas/Nonce"}}}},
        "application/x-www-form-urlencoded":{"schema":{"type":"object","required":["code","name"],
        "properties":{"code":{"type":"string"},"name":{"$ref":"#/components/schemas/Name"},"nonce":{
        "$ref":"#/components/schemas/Nonce"}}}}}}}},
        "/v1/claims":{"get":{"operationId":"claims","summary":"Claim codes that are left.","security":
        [{"token":[]},{"session":[]}],"responses":{"200":{"description":"All.","content":{"application/json":
        {"schema":{"type":"object","required":["claims"],"properties":{"claims":{"type":"array","items":
        {"type":"object"}}}}}}},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},
        "403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":
        {"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}},"post":
        {"operationId":"addClaim","summary":"Makes a claim code.","security":[{"token":[]},{"session":
        []}],"responses":{"201":{"description":"The code, shown only once.","content":{"application/json":
        {"schema":{"type":"object","required":["id","code"]}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{
        "$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},"503":{"$ref":
        "#/components/responses/503"}},"requestBody":{"required":true,"content":{"application/json":
        {"schema":{"type":"object","properties":{"uses":{"type":"integer","minimum":1,"maximum":1000000},
        "days":{"type":"integer","minimum":1,"maximum":366},"allow":{"oneOf":[{"const":"all"},{"type":
        "array","maxItems":11,"items":{"enum":["start","stop","set_config","unset_config","add_geofences",
        "remove_geofences","remove_all_geofences","set_motion","sync","locate","upload_log"]}}]},"settings":
        {"oneOf":[{"const":"all"},{"type":"array","maxItems":2,"items":{"enum":
        ["tracking.interval_seconds","sync.interval_seconds"]}}]}}}}}}}},
        "/v1/claims/{claim}":{"parameters":[{"name":"claim","in":"path","required":true,"schema":
        {"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],"delete":
        {"operationId":"removeClaim","summary":"Ends a code.","security":[{"token":[]},{"session":
        []}],"responses":{"204":{"description":"The code can no longer be used."},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{
        "$ref":"#/components/responses/503"}}}},
        "/v1/devices":{"get":{"operationId":"devices","summary":"All devices.","security":[{"token":
        []},{"session":[]}],"responses":{"200":{"description":"By number.","content":{"application/json":
        {"schema":{"type":"object","required":["devices"],"properties":{"devices":{"type":"array",
        "items":{"$ref":"#/components/schemas/Device"}}}}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{
        "$ref":"#/components/responses/503"}}},"post":{"operationId":"addDevice","summary":"Makes a device.",
        "security":[{"token":[]},{"session":[]}],"responses":{"201":{"description":"With its tokens, shown only once.",
        "content":{"application/json":{"schema":{"$ref":"#/components/schemas/Tokens"}}},"application/toml":
        {"schema":{"type":"string"}}},"400":{
        "$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":
        "#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},
        "409":{"$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},"503":
        {"$ref":"#/components/responses/503"}},"requestBody":{"required":true,"content":{"application/json":
        {"schema":{"type":"object","required":["name"],"properties":{"name":{"$ref":"#/components/schemas/Name"}}}}}}}},
        "/v1/devices/{device}":{"parameters":[{"name":"device","in":"path","required":true,"schema":
        {"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],"get":{"operationId":
        "device","summary":"One device.","security":[{"token":[]},{"session":[]}],"responses":{"200":
        {"description":"The device.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Device"}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":
        {"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{
        "$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}},
        "patch":{"operationId":"editDevice","summary":"Changes what a device is called, and its group; an empty text takes away.",
        "security":[{"token":[]},{"session":[]}],"responses":{"204":{"description":"Changed."},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},
        "503":{"$ref":"#/components/responses/503"}},
        "requestBody":{"required":true,"content":{"application/json":
        {"schema":{"type":"object","anyOf":[{"required":["name"]},{"required":["plate"]},
        {"required":["note"]},{"required":["group"]}],"properties":{"name":
        {"$ref":"#/components/schemas/Name"},"plate":{"type":"string","maxLength":20,"pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]*$"},"note":
        {"type":"string","maxLength":500,"pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]*$"},"group":{"type":"string","maxLength":100,"pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]*$"}}}}}}},"delete":
        {"operationId":"revokeDevice","summary":"Ends its tokens for good; its locations stay.","security":
        [{"token":[]},{"session":[]}],"responses":{"204":{"description":"Ended."},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{
        "$ref":"#/components/responses/503"}}}},
        "/v1/devices/{device}/locations":{"parameters":[{"name":"device","in":"path","required":true,
        "schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "get":{"operationId":"locations","summary":"Locations by time.","security":[{"token":[]},
        {"session":[]}],"responses":{"200":{"description":"As asked for.","content":{"application/json":
        {"schema":{"type":"object","required":["device","name","locations"],"properties":{"device":
        {"type":"integer"},"name":{"type":"string"},"locations":{"type":"array","items":{"$ref":"#/components/schemas/Location"}}}}},
        "application/geo+json":{"schema":{"type":"object"}},"application/gpx+xml":{},"application/vnd.beekon.track":{},"text/csv":{
        "schema":{"type":"string"}}}},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},
        "403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":
        {"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}},"parameters":
        [{"name":"from","in":"query","required":false,"description":"The first moment.","schema":
        {"type":"string","format":"date-time","description":"RFC 3339"}},{"name":"to","in":"query",
        "required":false,"description":"The last moment.","schema":{"type":"string","format":"date-time",
        "description":"RFC 3339"}},{"name":"limit","in":"query","required":false,"description":"At most so many.",
        "schema":{"type":"integer","minimum":1,"maximum":1000000}},{"name":"format","in":"query",
        "required":false,"description":"json, if nothing else is asked for.","schema":{"enum":["json",
        "geojson","gpx","csv","packed"]}}]}},
        "/v1/devices/{device}/events":{"parameters":[{"name":"device","in":"path","required":true,
        "schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "get":{"operationId":"events","summary":"Crossings of geofences, and what else a vehicle told, by time.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"Events.","content":
        {"application/json":{"schema":{"type":"object","required":["events"],"properties":{"events":
        {"type":"array","items":{"type":"object","required":["id","kind","timestamp"]}}}}}}},"400":
        {"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{
        "$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":
        "#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}},"parameters":[
        {"name":"from","in":"query","required":false,"description":"The first moment.","schema":{
        "type":"string","format":"date-time","description":"RFC 3339"}},{"name":"to","in":"query",
        "required":false,"description":"The last moment.","schema":{"type":"string","format":"date-time",
        "description":"RFC 3339"}},{"name":"limit","in":"query","required":false,"description":"At most so many.",
        "schema":{"type":"integer","minimum":1,"maximum":1000000}}]}},
        "/v1/devices/{device}/trips":{"parameters":[{"name":"device","in":"path","required":true,
        "schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "get":{"operationId":"trips","summary":"What lies between two stays of five minutes.","security":
        [{"token":[]},{"session":[]}],"responses":{"200":{"description":"Trips.","content":{"application/json":
        {"schema":{"type":"object","required":["trips"],"properties":{"trips":{"type":"array","items":
        {"type":"object","required":["start","end","from","to","distance","duration","locations"]}}}}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":
        {"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{
        "$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}},"parameters":
        [{"name":"from","in":"query","required":false,"description":"The first moment.","schema":
        {"type":"string","format":"date-time","description":"RFC 3339"}},{"name":"to","in":"query",
        "required":false,"description":"The last moment.","schema":{"type":"string","format":"date-time",
        "description":"RFC 3339"}},{"name":"limit","in":"query","required":false,"description":"At most so many.",
        "schema":{"type":"integer","minimum":1,"maximum":1000000}}]}},
        "/v1/trips":{"get":{"operationId":"fleetTrips","summary":"Trips of all vehicles, as they told them, or else as their locations show them.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"Trips, by vehicle and time.","content":
        {"application/json":{"schema":{"type":"object","required":["trips"],"properties":{"trips":{"type":"array",
        "items":{"type":"object","required":["device","name","start","end","distance_meters","duration_seconds",
        "source"]}}}}},"text/csv":{"schema":{"type":"string"}}}},"400":{"$ref":"#/components/responses/400"},"401":{
        "$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":
        "#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":
        "#/components/responses/503"}},"parameters":[{"name":"from","in":"query","required":false,"description":
        "The first moment.","schema":{"type":"string","format":"date-time","description":"RFC 3339"}},{"name":"to",
        "in":"query","required":false,"description":"The last moment.","schema":{"type":"string","format":"date-time",
        "description":"RFC 3339"}},{"name":"group","in":"query","required":false,"description":"Of vehicles of this group alone.",
        "schema":{"type":"string"}},{"name":"format","in":"query","required":false,"description":"json or csv.","schema":
        {"enum":["json","csv"]}}]}},
        "/v1/events":{"get":{"operationId":"fleetEvents","summary":"Events of all vehicles, the newest first.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"Events; the cursor of the last of them, as before, asks for those behind it.","content":{"application/json":
        {"schema":{"type":"object","required":["events"],"properties":{"events":{"type":"array","items":{"type":"object",
        "required":["cursor","device","name","event"],"properties":{"cursor":{"type":"string"},"device":{"type":"integer"},"name":{"type":"string"},
        "event":{"type":"object","required":["id","kind","timestamp"]}}}}}}}}},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}},
        "parameters":[{"name":"from","in":"query","required":false,"description":"The first moment.","schema":{"type":"string","format":"date-time","description":"RFC 3339"}},
        {"name":"to","in":"query","required":false,"description":"The last moment.","schema":{"type":"string","format":"date-time","description":"RFC 3339"}},
        {"name":"device","in":"query","required":false,"description":"Of this vehicle alone.","schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}},
        {"name":"group","in":"query","required":false,"description":"Of vehicles of this group alone.","schema":{"type":"string","minLength":1,"maxLength":100}},
        {"name":"kind","in":"query","required":false,"description":"geofence_enter, geofence_exit, or a kind as vehicles name it.","schema":{"type":"string","minLength":1,"maxLength":100}},
        {"name":"before","in":"query","required":false,"description":"The cursor of an element: those behind it.","schema":{"type":"string","pattern":"^[0-9]{1,15}[.][0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}},
        {"name":"limit","in":"query","required":false,"description":"At most so many; 100, if nothing else is asked for.","schema":{"type":"integer","minimum":1,"maximum":1000}}]}},
        "/v1/alerts":{"get":{"operationId":"alerts","summary":"What happened that rules wait for, the newest first.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"Alerts. Without webhook and mail, one is listed only.","content":{"application/json":
        {"schema":{"type":"object","required":["alerts"],"properties":{"alerts":{"type":"array","items":{"type":"object",
        "required":["cursor","id","rule","device","name","kind","timestamp","found","text","data"],"properties":{"cursor":{"type":"string"},
        "id":{"type":"string"},"rule":{"type":"object","required":["id"]},"device":{"type":"integer"},"name":{"type":"string"},"kind":{"type":"string"},
        "timestamp":{"type":"string","format":"date-time","description":"RFC 3339"},"found":{"type":"string","format":"date-time","description":"RFC 3339"},"text":{"type":"string"},"data":{"type":"object"},
        "webhook":{"enum":["waiting","sent","failed"]},"mail":{"enum":["waiting","sent","failed"]},"reason":{"type":"string"}}}}}}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}},
        "parameters":[{"name":"from","in":"query","required":false,"description":"The first moment.","schema":{"type":"string","format":"date-time","description":"RFC 3339"}},
        {"name":"to","in":"query","required":false,"description":"The last moment.","schema":{"type":"string","format":"date-time","description":"RFC 3339"}},
        {"name":"device","in":"query","required":false,"description":"Of this vehicle alone.","schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}},
        {"name":"group","in":"query","required":false,"description":"Of vehicles of this group alone.","schema":{"type":"string","minLength":1,"maxLength":100}},
        {"name":"kind","in":"query","required":false,"description":"Of rules of this kind alone.","schema":{"type":"string","minLength":1,"maxLength":100}},
        {"name":"rule","in":"query","required":false,"description":"Of this rule alone.","schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}},
        {"name":"before","in":"query","required":false,"description":"The cursor of an element: those behind it.","schema":{"type":"string","pattern":"^[0-9]{1,15}[.][0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}},
        {"name":"limit","in":"query","required":false,"description":"At most so many; 100, if nothing else is asked for.","schema":{"type":"integer","minimum":1,"maximum":1000}}]}},
        "/v1/rules":{"get":{"operationId":"rules","summary":"What admins want to be told of, and where.","security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"By name; without secrets, and of a webhook only the host.",
        "content":{"application/json":{"schema":{"type":"object","required":["rules"],"properties":{"rules":{"type":"array","items":{"$ref":"#/components/schemas/Rule"}}}}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}},
        "post":{"operationId":"addRule","summary":"Makes a rule.","security":[{"token":[]},{"session":[]}],"responses":{"201":{"description":"With the secret of its webhook, shown this once.",
        "content":{"application/json":{"schema":{"$ref":"#/components/schemas/Rule"}}}},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},"503":{"$ref":"#/components/responses/503"}},
        "requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/NewRule"}}}}}},
        "/v1/rules/{rule}":{"parameters":[{"name":"rule","in":"path","required":true,"schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "put":{"operationId":"changeRule","summary":"Replaces a rule, which begins anew; without webhook, it goes where it went.","security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"With the secret, where it is new.",
        "content":{"application/json":{"schema":{"$ref":"#/components/schemas/Rule"}}}},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},"503":{"$ref":"#/components/responses/503"}},
        "requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/NewRule"}}}}},
        "delete":{"operationId":"removeRule","summary":"Ends a rule; its alerts stay listed.","security":[{"token":[]},{"session":[]}],"responses":{"204":{"description":"Ended."},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/v1/rules/{rule}/test":{"parameters":[{"name":"rule","in":"path","required":true,"schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "post":{"operationId":"testRule","summary":"Sends to the webhook and to each address of a rule, once and at once.","security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"What came of it, on each way.",
        "content":{"application/json":{"schema":{"type":"object","required":["results"],"properties":{"results":{"type":"array","items":{"type":"object","required":["channel","address","result"],"properties":{
        "channel":{"enum":["webhook","mail"]},"address":{"type":"string"},"result":{"enum":["sent","failed"]},"reason":{"type":"string"}}}}}}}}},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/v1/fences":{"get":{"operationId":"fences","summary":"The fences of the fleet, as far as they are for vehicles that the caller sees.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"In the order in which they were drawn.","content":{"application/json":
        {"schema":{"type":"object","required":["fences"],"properties":{"fences":{"type":"array","items":
        {"$ref":"#/components/schemas/Fence"}}}}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}},
        "post":{"operationId":"addFence","summary":"Draws a fence; each vehicle that it is for takes it with its next upload.",
        "security":[{"token":[]},{"session":[]}],"responses":{"201":{"description":"The fence.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Fence"}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},"503":{"$ref":"#/components/responses/503"}},
        "requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/FenceDraft"}}}}}},
        "/v1/fences/{fence}":{"parameters":[{"name":"fence","in":"path","required":true,
        "schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "get":{"operationId":"fence","summary":"One of them.","security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"The fence.",
        "content":{"application/json":{"schema":{"$ref":"#/components/schemas/Fence"}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}},
        "put":{"operationId":"replaceFence","summary":"Puts another shape, name, or other vehicles in place of those it has.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"The fence.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Fence"}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},"503":{"$ref":"#/components/responses/503"}},
        "requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/FenceDraft"}}}}},
        "delete":{"operationId":"removeFence","summary":"Removes it; vehicles forget it with their next upload.",
        "security":[{"token":[]},{"session":[]}],"responses":{"204":{"description":"It is removed."},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/v1/fences/{fence}/devices":{"parameters":[{"name":"fence","in":"path","required":true,
        "schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "get":{"operationId":"fenceDevices","summary":"The vehicles that a fence is for, and whether they have it.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"By number.","content":{"application/json":{"schema":{"type":"object",
        "required":["devices"],"properties":{"devices":{"type":"array","items":{"type":"object","required":["device","state"],
        "properties":{"device":{"type":"integer","format":"int64"},"state":{"enum":["taken","waiting","refused"]},
        "reason":{"type":"string"}}}}}}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/v1/devices/{device}/fences":{"parameters":[{"name":"device","in":"path","required":true,
        "schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "get":{"operationId":"deviceFences","summary":"The fences of the fleet that a vehicle is to have, and whether it has them.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"By number.","content":{"application/json":
        {"schema":{"type":"object","required":["fences"],"properties":{"fences":{"type":"array","items":{"type":"object",
        "required":["id","state"],"properties":{"id":{"type":"integer","format":"int64"},"state":{"enum":["taken","waiting",
        "refused"]},"reason":{"type":"string"}}}}}}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/v1/devices/{device}/log":{"parameters":[{"name":"device","in":"path","required":true,"schema":
        {"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],"get":{"operationId":
        "log","summary":"The newest log that a vehicle sent.","security":[{"token":[]},{"session":
        []}],"responses":{"200":{"description":"Lines.","content":{"text/plain":{"schema":{"type":
        "string"}}}},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},
        "403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":
        {"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/v1/devices/{device}/installations":{"parameters":[{"name":"device","in":"path","required":true,
        "schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "get":{"operationId":"installations","summary":"Which installation of beekond a device is, and who else shows its tokens.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"The newest first.","content":{"application/json":
        {"schema":{"type":"object","required":["installations"],"properties":{"installations":{"type":"array","items":{"type":"object",
        "required":["install_id","state","since"],"properties":{"install_id":{"type":"string"},"state":{"enum":["bound","earlier","other"]},
        "since":{"type":"string","format":"date-time","description":"RFC 3339"}}}}}}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},
        "405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}},
        "post":{"operationId":"confirmInstallation","summary":"Binds the device to one of them: commands are for it.",
        "security":[{"token":[]},{"session":[]}],"responses":{"204":{"description":"It is bound."},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},
        "404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"413":{"$ref":"#/components/responses/413"},
        "503":{"$ref":"#/components/responses/503"}},"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object",
        "required":["install_id"],"properties":{"install_id":{"type":"string","format":"uuid"}}}}}}}},
        "/v1/devices/{device}/tokens":{"parameters":[{"name":"device","in":"path","required":true,
        "schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "post":{"operationId":"renewTokens","summary":"New tokens for a device; those that it had end at once.",
        "security":[{"token":[]},{"session":[]}],"responses":{"201":{"description":"The pair, shown only once.",
        "content":{"application/json":{"schema":{"$ref":"#/components/schemas/Tokens"}},"application/toml":
        {"schema":{"type":"string"}}}},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},
        "403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":
        {"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/v1/devices/{device}/commands":{"parameters":[{"name":"device","in":"path","required":true,
        "schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "get":{"operationId":"commands","summary":"Commands, newest first.","security":[{"token":
        []},{"session":[]}],"responses":{"200":{"description":"With results.","content":{"application/json":
        {"schema":{"type":"object","required":["commands"],"properties":{"commands":{"type":"array",
        "items":{"$ref":"#/components/schemas/Command"}}}}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{
        "$ref":"#/components/responses/503"}}},"post":{"operationId":"order","summary":"Orders a command.",
        "security":[{"token":[]},{"session":[]}],"responses":{"201":{"description":"The command is queued.","content":
        {"application/json":{"schema":{"$ref":"#/components/schemas/Command"}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{
        "$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},"503":{"$ref":
        "#/components/responses/503"}},"requestBody":{"required":true,"content":{"application/json":
        {"schema":{"$ref":"#/components/schemas/Order"}}}}}},
        "/v1/devices/{device}/commands/{command}":{"parameters":[{"name":"device","in":"path","required":
        true,"schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}},
        {"name":"command","in":"path","required":true,"schema":{"type":"string","pattern":"^c-[1-9][0-9]{0,17}$"}}],
        "delete":{"operationId":"withdraw","summary":"Takes a command back.","security":[{"token":
        []},{"session":[]}],"responses":{"204":{"description":"It is not offered any more."},"400":
        {"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{
        "$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":
        "#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/v1/devices/{device}/data":{"parameters":[{"name":"device","in":"path","required":true,"schema":
        {"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "delete":{"operationId":"deleteDevice","summary":"Deletes a device with all that it has sent; its tokens end at once.",
        "security":[{"token":[]},{"session":[]}],"responses":{"204":{"description":"Nobody sees it any more; its rows go bit by bit."},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},
        "503":{"$ref":"#/components/responses/503"}}}},
        "/v1/devices/{device}/links":{"parameters":[{"name":"device","in":"path","required":true,"schema":
        {"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "get":{"operationId":"links","summary":"Links that show where the device is.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"The newest first, without their secrets.",
        "content":{"application/json":{"schema":{"type":"object","required":["links"],"properties":
        {"links":{"type":"array","items":{"type":"object","required":["id","created","expires","author"],
        "properties":{"id":{"type":"integer"},"created":{"type":"string","format":"date-time","description":"RFC 3339"},"expires":{"type":"string","format":"date-time","description":"RFC 3339"},
        "author":{"type":"string"}}}}}}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},
        "503":{"$ref":"#/components/responses/503"}}},
        "post":{"operationId":"addLink","summary":"Makes a link that shows where the device is, from now on.",
        "security":[{"token":[]},{"session":[]}],"responses":{"201":{"description":"The link, shown this once; the secret is behind the #.",
        "content":{"application/json":{"schema":{"type":"object","required":["id","created","expires","author"],
        "properties":{"id":{"type":"integer"},"created":{"type":"string","format":"date-time","description":"RFC 3339"},"expires":{"type":"string","format":"date-time","description":"RFC 3339"},
        "author":{"type":"string"},"path":{"type":"string"}}}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},
        "503":{"$ref":"#/components/responses/503"}},
        "requestBody":{"required":true,"content":{"application/json":
        {"schema":{"type":"object","required":["hours"],"properties":{"hours":
        {"type":"integer","minimum":1,"maximum":72}}}}}}}},
        "/v1/devices/{device}/links/{link}":{"parameters":[{"name":"device","in":"path","required":true,"schema":
        {"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}},{"name":"link","in":"path","required":true,
        "schema":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}}],
        "delete":{"operationId":"removeLink","summary":"Ends a link.",
        "security":[{"token":[]},{"session":[]}],"responses":{"204":{"description":"It shows nothing any more."},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},
        "503":{"$ref":"#/components/responses/503"}}}},
        "/v1/shared":{"get":{"operationId":"shared","summary":"Where the device of a link is.",
        "security":[{"link":[]}],"responses":{"200":{"description":"Its newest location since the link was made, if there is one.",
        "content":{"application/json":{"schema":{"type":"object","required":["name","since","expires"],
        "properties":{"name":{"type":"string"},"since":{"type":"string","format":"date-time","description":"RFC 3339"},"expires":{"type":"string","format":"date-time","description":"RFC 3339"},
        "latest":{"type":"object","required":["timestamp","latitude","longitude"]}}}}}},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"405":{"$ref":"#/components/responses/405"},
        "503":{"$ref":"#/components/responses/503"}}}},
        "/v1/groups":{"get":{"operationId":"groups","summary":"Groups of devices.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"By name.",
        "content":{"application/json":{"schema":{"type":"object","required":["groups"],"properties":
        {"groups":{"type":"array","items":{"type":"object","required":["name","created","devices","readers"],
        "properties":{"name":{"type":"string"},"created":{"type":"string","format":"date-time","description":"RFC 3339"},"devices":{"type":"integer"},
        "readers":{"type":"integer"}}}}}}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},
        "503":{"$ref":"#/components/responses/503"}}},
        "post":{"operationId":"addGroup","summary":"Makes a group.",
        "security":[{"token":[]},{"session":[]}],"responses":{"201":{"description":"It.",
        "content":{"application/json":{"schema":{"type":"object","required":["name","created","devices","readers"],
        "properties":{"name":{"type":"string"},"created":{"type":"string","format":"date-time","description":"RFC 3339"},"devices":{"type":"integer"},
        "readers":{"type":"integer"}}}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},
        "503":{"$ref":"#/components/responses/503"}},
        "requestBody":{"required":true,"content":{"application/json":
        {"schema":{"type":"object","required":["name"],"properties":{"name":
        {"$ref":"#/components/schemas/Name"}}}}}}}},
        "/v1/groups/{name}":{"parameters":[{"name":"name","in":"path","required":true,"schema":{"type":
        "string","minLength":1,"maxLength":100}}],
        "delete":{"operationId":"removeGroup","summary":"Removes a group; its devices are in none afterwards.",
        "security":[{"token":[]},{"session":[]}],"responses":{"204":{"description":"Removed."},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},
        "503":{"$ref":"#/components/responses/503"}}}},
        "/v1/users/{name}/groups":{"parameters":[{"name":"name","in":"path","required":true,"schema":{"type":
        "string","minLength":1,"maxLength":100}}],
        "put":{"operationId":"setGroups","summary":"Lets a reader see the devices of some groups, or all.",
        "security":[{"token":[]},{"session":[]}],"responses":{"204":{"description":"It counts at once."},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},
        "503":{"$ref":"#/components/responses/503"}},
        "requestBody":{"required":true,"content":{"application/json":
        {"schema":{"type":"object","required":["groups"],"properties":{"groups":
        {"oneOf":[{"const":"all"},{"type":"array","maxItems":100,"items":
        {"$ref":"#/components/schemas/Name"}}]}}}}}}}},
        "/v1/live":{"get":{"operationId":"live","summary":"Changes as they come: event device, with a device as data; with form=compact, event moves with rows of numbers; event alive every 15 s.",
        "security":[{"token":[]},{"session":[]}],"parameters":[{"name":"form","in":"query","required":
        false,"description":"compact: one event a second for all that have moved.","schema":{"enum":
        ["full","compact"]}}],"responses":{"200":{"description":"Server-sent events.",
        "content":{"text/event-stream":{"schema":{"type":"string"}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{
        "$ref":"#/components/responses/503"}}}},
        "/v1/login":{"post":{"operationId":"login","summary":"Begins a session.","security":[],"responses":
        {"200":{"description":"The session is in the cookie.","content":{"application/json":{"schema":
        {"$ref":"#/components/schemas/Session"}}}},"400":{"$ref":"#/components/responses/400"},"401":
        {"$ref":"#/components/responses/401"},"405":{"$ref":"#/components/responses/405"},"413":{
        "$ref":"#/components/responses/413"},"415":{"$ref":"#/components/responses/415"},"429":{"description":"Too many wrong passwords; Retry-After tells when to try again.",
        "content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"503":{"$ref":
        "#/components/responses/503"}},"requestBody":{"required":true,"content":{"application/json":
        {"schema":{"type":"object","required":["name","password"],"properties":{"name":{"type":"string"},
        "password":{"type":"string"}}}}}}}},
        "/v1/logout":{"post":{"operationId":"logout","summary":"Ends the session.","security":[{"session":
        []}],"responses":{"204":{"description":"Ended."},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{
        "$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},"503":{"$ref":
        "#/components/responses/503"}}}},
        "/v1/session":{"get":{"operationId":"session","summary":"Who asks.","security":[{"token":
        []},{"session":[]}],"responses":{"200":{"description":"The user.","content":{"application/json":
        {"schema":{"$ref":"#/components/schemas/Session"}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{
        "$ref":"#/components/responses/503"}}}},
        "/v1/session/password":{"put":{"operationId":"changePassword","summary":"Gives who asks another password; all sessions end, and a new one begins.",
        "security":[{"session":[]}],"responses":{"200":{"description":"The new session is in the cookie.","content":
        {"application/json":{"schema":{"$ref":"#/components/schemas/Session"}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"409":{
        "$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},"429":{"description":"Too many wrong passwords; Retry-After tells when to try again.",
        "content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"503":{"$ref":
        "#/components/responses/503"}},"requestBody":{"required":true,"content":{"application/json":
        {"schema":{"type":"object","required":["current","password"],"properties":{"current":{"type":"string","minLength":1},
        "password":{"type":"string","minLength":10,"maxLength":200,"pattern":"^[^\\u0000]*$"}}}}}}}},
        "/v1/users":{"get":{"operationId":"users","summary":"All users.","security":[{"token":[]},
        {"session":[]}],"responses":{"200":{"description":"By name.","content":{"application/json":
        {"schema":{"type":"object","required":["users"],"properties":{"users":{"type":"array","items":
        {"type":"object","required":["name","role","created"]}}}}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{
        "$ref":"#/components/responses/503"}}},"post":{"operationId":"addUser","summary":"Makes a user.",
        "security":[{"token":[]},{"session":[]}],"responses":{"201":{"description":"With the token, shown only once.",
        "content":{"application/json":{"schema":{"type":"object","required":["name","role","token"]}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":
        {"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{
        "$ref":"#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{"$ref":
        "#/components/responses/413"},"503":{"$ref":"#/components/responses/503"}},"requestBody":
        {"required":true,"content":{"application/json":{"schema":{"type":"object","required":["name",
        "role"],"properties":{"name":{"$ref":"#/components/schemas/Name"},"role":{"enum":["reader",
        "admin"]},"groups":{"oneOf":[{"const":"all"},{"type":"array","maxItems":100,"items":
        {"$ref":"#/components/schemas/Name"}}]}}}}}}}},
        "/v1/users/{name}":{"parameters":[{"name":"name","in":"path","required":true,"schema":{"type":
        "string","minLength":1,"maxLength":100}}],"delete":{"operationId":"removeUser","summary":
        "Removes a user, with token and sessions.","security":[{"token":[]},{"session":[]}],"responses":
        {"204":{"description":"Removed."},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":
        "#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},
        "405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/v1/users/{name}/password":{"parameters":[{"name":"name","in":"path","required":true,"schema":
        {"type":"string","minLength":1,"maxLength":100}}],"put":{"operationId":"setPassword","summary":
        "Gives a user a password; sessions end.","security":[{"token":[]},{"session":[]}],"responses":
        {"204":{"description":"Set."},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},
        "403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":
        {"$ref":"#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{
        "$ref":"#/components/responses/413"},"503":{"$ref":"#/components/responses/503"}},"requestBody":
        {"required":true,"content":{"application/json":{"schema":{"type":"object","required":["password"],
        "properties":{"password":{"type":"string","minLength":10,"maxLength":200,"pattern":"^[^\\u0000]*$"}}}}}}}},
        "/v1/map/{zoom}/{column}/{row}":{"parameters":[
        {"name":"zoom","in":"path","required":true,"schema":{"type":"integer","minimum":0,"maximum":22}},
        {"name":"column","in":"path","required":true,"schema":{"type":"integer","minimum":0,"maximum":4194303}},
        {"name":"row","in":"path","required":true,"schema":{"type":"integer","minimum":0,"maximum":4194303}}],
        "get":{"operationId":"tile","summary":"A picture of the operator's own map; rows are counted from the north.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"The picture.",
        "content":{"image/png":{},"image/jpeg":{},"image/webp":{}}},"204":{"description":"There is none here."},
        "304":{"description":"As the tag that was shown."},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{
        "$ref":"#/components/responses/503"}}}},
        "/v1/key":{"get":{"operationId":"key","summary":"The public key that signs commands (PEM).",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"For verify_keys.",
        "content":{"application/x-pem-file":{"schema":{"type":"string"}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":
        {"$ref":"#/components/responses/404"},"405":{"$ref":"#/components/responses/405"},"503":{
        "$ref":"#/components/responses/503"}}}},
        "/v1/openapi.json":{"get":{"operationId":"description","summary":"This document.","security":
        [],"responses":{"200":{"description":"OpenAPI 3.1.","content":{"application/json":{"schema":
        {"type":"object"}}}},"405":{"$ref":"#/components/responses/405"}}}},
        "/v1/clock":{"get":{"operationId":"clock","summary":"The server's clock, and the time by which stored data expires.",
        "security":[{"token":[]},{"session":[]}],"responses":{"200":{"description":"Both.","content":{"application/json":
        {"schema":{"$ref":"#/components/schemas/Clock"}}}},"400":{"$ref":"#/components/responses/400"},
        "401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"405":
        {"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}},"post":{"operationId":"confirmClock",
        "summary":"Says that the clock is right.","security":[{"token":[]},{"session":[]}],"responses":{"200":
        {"description":"Both, after that.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Clock"}}}},
        "400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},
        "405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/v1/doctor":{"get":{"operationId":"doctor","summary":"Facts about the database.","security":
        [{"token":[]},{"session":[]}],"responses":{"200":{"description":"Facts.","content":{"application/json":
        {"schema":{"type":"object"}}}},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":
        "#/components/responses/401"},"403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},
        "405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/v1/backup":{"post":{"operationId":"backup","summary":"Copies the database; through the local socket alone.",
        "security":[{"token":[]},{"session":[]}],"responses":{"204":{"description":"The copy is complete."},"400":
        {"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},"403":{
        "$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":{"$ref":
        "#/components/responses/405"},"409":{"$ref":"#/components/responses/409"},"413":{"$ref":"#/components/responses/413"},
        "503":{"$ref":"#/components/responses/503"}},"requestBody":{"required":true,"content":{"application/json":
        {"schema":{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}}}}}},
        "/metrics":{"get":{"operationId":"metrics","summary":"For Prometheus.","parameters":[{"name":"device","in":"query",
        "required":false,"description":"Only of this device. Of more than 10,000, there are sums without it.",
        "schema":{"type":"integer","format":"int64","minimum":1}}],"security":[{"token":
        []},{"session":[]}],"responses":{"200":{"description":"Text.","content":{"text/plain":{"schema":
        {"type":"string"}}}},"400":{"$ref":"#/components/responses/400"},"401":{"$ref":"#/components/responses/401"},
        "403":{"$ref":"#/components/responses/403"},"404":{"$ref":"#/components/responses/404"},"405":
        {"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}},
        "/health/live":{"get":{"operationId":"healthLive","summary":"The process answers.","security":
        [],"responses":{"204":{"description":"It does."},"405":{"$ref":"#/components/responses/405"}}}},
        "/health/ready":{"get":{"operationId":"healthReady","summary":"Its database answers, and is whole.","security":
        [],"responses":{"200":{"description":"It does.","content":{"application/json":{"schema":{
        "type":"object"}}}},"405":{"$ref":"#/components/responses/405"},"503":{"$ref":"#/components/responses/503"}}}}
        },"components":{"schemas":{"Rule_name":{"type":"string","minLength":1,"maxLength":100,"pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]+$"},
        "Rule_group":{"type":"string","maxLength":100,"pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]*$"},
        "Rule_device":{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807},
        "Rule_webhook":{"type":"string","pattern":"^(https?://[A-Za-z0-9]{1,63}(:[1-9][0-9]{0,3})?(/[A-Za-z0-9._~/-]{0,200})?)?$"},
        "Rule_secret":{"const":"new"},
        "Rule_mail":{"type":"array","maxItems":10,"items":{"type":"string","pattern":"^[a-z0-9]{1,64}@[a-z0-9]{1,63}$"}},
        "Rule_mail_interval_seconds":{"type":"integer","minimum":60,"maximum":86400},
        "NewRule":{"oneOf":[
        {"type":"object","required":["name","kind"],"properties":{"kind":{"const":"geofence"},"type":{"enum":["enter","exit","dwell"]},"fence":{"type":"string","maxLength":100,"pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]*$"},"name":{"$ref":"#/components/schemas/Rule_name"},"group":{"$ref":"#/components/schemas/Rule_group"},"device":{"$ref":"#/components/schemas/Rule_device"},"webhook":{"$ref":"#/components/schemas/Rule_webhook"},"secret":{"$ref":"#/components/schemas/Rule_secret"},"mail":{"$ref":"#/components/schemas/Rule_mail"},"mail_interval_seconds":{"$ref":"#/components/schemas/Rule_mail_interval_seconds"}},"not":{"required":["group","device"]}},
        {"type":"object","required":["name","kind"],"properties":{"kind":{"const":"ignition"},"type":{"enum":["on","off"]},"name":{"$ref":"#/components/schemas/Rule_name"},"group":{"$ref":"#/components/schemas/Rule_group"},"device":{"$ref":"#/components/schemas/Rule_device"},"webhook":{"$ref":"#/components/schemas/Rule_webhook"},"secret":{"$ref":"#/components/schemas/Rule_secret"},"mail":{"$ref":"#/components/schemas/Rule_mail"},"mail_interval_seconds":{"$ref":"#/components/schemas/Rule_mail_interval_seconds"}},"not":{"required":["group","device"]}},
        {"type":"object","required":["name","kind"],"properties":{"kind":{"const":"power"},"type":{"enum":["lost","back"]},"name":{"$ref":"#/components/schemas/Rule_name"},"group":{"$ref":"#/components/schemas/Rule_group"},"device":{"$ref":"#/components/schemas/Rule_device"},"webhook":{"$ref":"#/components/schemas/Rule_webhook"},"secret":{"$ref":"#/components/schemas/Rule_secret"},"mail":{"$ref":"#/components/schemas/Rule_mail"},"mail_interval_seconds":{"$ref":"#/components/schemas/Rule_mail_interval_seconds"}},"not":{"required":["group","device"]}},
        {"type":"object","required":["name","kind"],"properties":{"kind":{"const":"trip"},"type":{"enum":["started","ended"]},"name":{"$ref":"#/components/schemas/Rule_name"},"group":{"$ref":"#/components/schemas/Rule_group"},"device":{"$ref":"#/components/schemas/Rule_device"},"webhook":{"$ref":"#/components/schemas/Rule_webhook"},"secret":{"$ref":"#/components/schemas/Rule_secret"},"mail":{"$ref":"#/components/schemas/Rule_mail"},"mail_interval_seconds":{"$ref":"#/components/schemas/Rule_mail_interval_seconds"}},"not":{"required":["group","device"]}},
        {"type":"object","required":["name","kind","minutes"],"properties":{"kind":{"const":"silence"},"minutes":{"type":"integer","minimum":5,"maximum":525600},"name":{"$ref":"#/components/schemas/Rule_name"},"group":{"$ref":"#/components/schemas/Rule_group"},"device":{"$ref":"#/components/schemas/Rule_device"},"webhook":{"$ref":"#/components/schemas/Rule_webhook"},"secret":{"$ref":"#/components/schemas/Rule_secret"},"mail":{"$ref":"#/components/schemas/Rule_mail"},"mail_interval_seconds":{"$ref":"#/components/schemas/Rule_mail_interval_seconds"}},"not":{"required":["group","device"]}},
        {"type":"object","required":["name","kind","percent"],"properties":{"kind":{"const":"battery"},"percent":{"type":"integer","minimum":1,"maximum":90},"name":{"$ref":"#/components/schemas/Rule_name"},"group":{"$ref":"#/components/schemas/Rule_group"},"device":{"$ref":"#/components/schemas/Rule_device"},"webhook":{"$ref":"#/components/schemas/Rule_webhook"},"secret":{"$ref":"#/components/schemas/Rule_secret"},"mail":{"$ref":"#/components/schemas/Rule_mail"},"mail_interval_seconds":{"$ref":"#/components/schemas/Rule_mail_interval_seconds"}},"not":{"required":["group","device"]}},
        {"type":"object","required":["name","kind","kilometers_per_hour"],"properties":{"kind":{"const":"speed"},"kilometers_per_hour":{"type":"integer","minimum":1,"maximum":1000},"name":{"$ref":"#/components/schemas/Rule_name"},"group":{"$ref":"#/components/schemas/Rule_group"},"device":{"$ref":"#/components/schemas/Rule_device"},"webhook":{"$ref":"#/components/schemas/Rule_webhook"},"secret":{"$ref":"#/components/schemas/Rule_secret"},"mail":{"$ref":"#/components/schemas/Rule_mail"},"mail_interval_seconds":{"$ref":"#/components/schemas/Rule_mail_interval_seconds"}},"not":{"required":["group","device"]}},
        {"type":"object","required":["name","kind"],"properties":{"kind":{"const":"failing"},"name":{"$ref":"#/components/schemas/Rule_name"},"group":{"$ref":"#/components/schemas/Rule_group"},"device":{"$ref":"#/components/schemas/Rule_device"},"webhook":{"$ref":"#/components/schemas/Rule_webhook"},"secret":{"$ref":"#/components/schemas/Rule_secret"},"mail":{"$ref":"#/components/schemas/Rule_mail"},"mail_interval_seconds":{"$ref":"#/components/schemas/Rule_mail_interval_seconds"}},"not":{"required":["group","device"]}}]},
        "Rule":{"type":"object","required":["id","name","kind","mail","mail_interval_seconds","created","author"],"properties":{"id":{"type":"integer"},
        "name":{"type":"string"},"kind":{"type":"string"},"type":{"type":"string"},"fence":{"type":"string"},"minutes":{"type":"integer"},
        "percent":{"type":"integer"},"kilometers_per_hour":{"type":"integer"},"group":{"type":"string"},"device":{"type":"integer"},
        "device_name":{"type":"string"},"webhook":{"type":"string","description":"Scheme and host."},"secret":{"type":"string"},
        "mail":{"type":"array","items":{"type":"string"}},"mail_interval_seconds":{"type":"integer"},"created":{"type":"string","format":"date-time","description":"RFC 3339"},
        "author":{"type":"string"}}},
        "Problem":{"type":"object","required":["type","title","status",
        "detail"],"properties":{"type":{"type":"string"},"title":{"type":"string"},"status":{"type":
        "integer"},"detail":{"type":"string"},"pointer":{"type":"string","description":"JSON pointer to the field that is wrong."},
        "index":{"type":"integer","description":"The location or event that is wrong."}}},
        "FenceShape":{"type":"object","description":"A circle, or a polygon.","properties":{"latitude":{"type":"number",
        "minimum":-90,"maximum":90},"longitude":{"type":"number","minimum":-180,"maximum":180},"radius_meters":{"type":"number",
        "exclusiveMinimum":0,"maximum":10000000},"polygon":{"type":"array","minItems":3,"maxItems":501,"description":"Longitude and latitude of each corner.",
        "items":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"number"}}},"notify_on_entry":{"type":"boolean"},
        "notify_on_exit":{"type":"boolean"},"dwell_seconds":{"type":"number","exclusiveMinimum":0,
        "maximum":31536000,"description":"After which a stay is told."}}},
        "FenceDraft":{"allOf":[{"$ref":"#/components/schemas/FenceShape"},{"type":"object","required":["name"],"properties":{
        "name":{"type":"string","minLength":1,"maxLength":100},"all":{"type":"boolean","description":"For every vehicle."},
        "groups":{"type":"array","items":{"type":"string"}},"devices":{"type":"array","items":{"type":"integer",
        "format":"int64"}}}}]},
        "Fence":{"allOf":[{"$ref":"#/components/schemas/FenceDraft"},{"type":"object","required":["id","created","changed",
        "author"],"properties":{"id":{"type":"integer","format":"int64"},"created":{"type":"string","format":"date-time",
        "description":"RFC 3339"},"changed":{"type":"string","format":"date-time","description":"RFC 3339"},
        "author":{"type":"string"}}}]},"Location":
        {"type":"object","required":["id","timestamp","latitude","longitude","is_mock"],"properties":
        {"id":{"type":"string"},"timestamp":{"type":"string","format":"date-time","description":"RFC 3339"},
        "latitude":{"type":"number"},"longitude":{"type":"number"},"trigger":{"type":"string"},"motion":
        {"type":"string"},"is_mock":{"type":"boolean"},"accuracy":{"type":"number"},"speed":{"type":
        "number"},"bearing":{"type":"number"},"altitude":{"type":"number"},"activity":{"type":"string"},
        "quality":{"type":"string"},"session_id":{"type":"string"},"extras":{"type":"object"}}},"Device":
        {"type":"object","required":["id","name","created"],"properties":{"id":{"type":"integer"},
        "name":{"type":"string"},"created":{"type":"string","format":"date-time","description":"RFC 3339"},
        "plate":{"type":"string"},"note":{"type":"string"},"group":{"type":"string"},
        "revoked":{"type":"string","format":"date-time","description":"RFC 3339"},"seen":{"type":
        "string","format":"date-time","description":"RFC 3339"},"other_installation":{"type":"string",
        "description":"The newest installation that shows its tokens and is not the device."},"token_shown_again":{"type":"string","format":"date-time",
        "description":"When a refresh token that had ended long before was shown: copied, restored from a backup, or stolen."},"install_id":{"type":"string"},"platform":
        {"type":"string"},"sdk_version":{"type":"string"},"model":{"type":"string"},"status":{"type":
        "object"},"status_received":{"type":"string","format":"date-time","description":"RFC 3339"},
        "latest":{"$ref":"#/components/schemas/Location"}}},"Tokens":{"type":"object","required":
        ["id","name","access_token","expires_at","refresh_token"],"properties":{"id":{"type":"integer"},
        "name":{"type":"string"},"access_token":{"type":"string"},"expires_at":{"type":"string","format":
        "date-time","description":"RFC 3339"},"refresh_token":{"type":"string"},"heartbeat_seconds":{"type":"integer"},
        "verify_key":{"type":"string","description":"PEM: the public key that signs commands, when a vehicle enrols"}}},"Nonce":{"type":"string","pattern":"^[0-9A-Fa-f]{32}$",
        "description":"128 random bits that the vehicle made and keeps: with the same code, name and nonce it asks again when an answer was lost."},"Name":{"type":
        "string","minLength":1,"maxLength":100,"pattern":"^(?!\\.\\.?$)[^/\\u0000-\\u001f\\u007f-\\u009f\\ufdd0-\\ufdef\\ufffe\\uffff]+$"},
        "Command":{"type":"object","required":["id","command","state","created","expires","author",
        "arguments"],"properties":{"id":{"type":"string"},"command":{"type":"string"},"state":{"enum":
        ["waiting","offered","finished","expired","withdrawn"]},"created":{"type":"string","format":
        "date-time","description":"RFC 3339"},"expires":{"type":"string","format":"date-time","description":
        "RFC 3339"},"author":{"type":"string"},"arguments":{"type":"object"},"offered":{"type":"string",
        "format":"date-time","description":"RFC 3339"},"finished":{"type":"string","format":"date-time",
        "description":"RFC 3339"},"result":{"type":"object"}}},"Order":{"type":"object","required":
        ["command"],"additionalProperties":false,"properties":{"command":{"enum":["start","stop",
        "set_config","unset_config","add_geofences","remove_geofences","remove_all_geofences","set_motion",
        "sync","locate","upload_log"]},"arguments":{"type":"object"},"expires_in":{"type":"number","minimum":60,"maximum":
        2592000}}},"Clock":{"type":"object","required":["time","confirmed","is_ahead"],
        "properties":{"time":{"type":"string","format":"date-time","description":"RFC 3339"},"confirmed":
        {"type":"string","format":"date-time","description":"RFC 3339"},"is_ahead":{"type":"boolean"}}},
        "Session":{"type":"object","required":["name","role"],"properties":{"name":{"type":
        "string"},"role":{"type":"string"},"csrf":{"type":"string","description":"For the header X-CSRF-Token of changes."}}}},
        "responses":{"400":{"description":"The request is wrong.","content":{"application/problem+json":
        {"schema":{"$ref":"#/components/schemas/Problem"}}}},"401":{"description":"Nobody who is known.",
        "content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},
        "403":{"description":"Not for who asks.","content":{"application/problem+json":{"schema":
        {"$ref":"#/components/schemas/Problem"}}}},"404":{"description":"There is no such thing.",
        "content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},
        "405":{"description":"The path has no such method.","content":{"application/problem+json":
        {"schema":{"$ref":"#/components/schemas/Problem"}}}},"409":{"description":"It does not fit what is there.",
        "content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},
        "413":{"description":"Too large.","content":{"application/problem+json":{"schema":{"$ref":
        "#/components/schemas/Problem"}}}},"415":{"description":"Of a type that is not taken.","content":
        {"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"503":{"description":
        "Later: Retry-After says when.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}}},
        "securitySchemes":{"link":{"type":"http","scheme":"bearer","description":"The secret of a link, which stands behind the # of its address."},
        "device":{"type":"http","scheme":"bearer","description":"The access token of a device."},
        "token":{"type":"http","scheme":"bearer","description":"The token of a user."},"session":
        {"type":"apiKey","in":"cookie","name":"beekon_session"}}}}
        """#
}
