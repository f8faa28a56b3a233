package web

import _ "embed"

// openAPIDocument describes every route: a test holds it against the router and the query names. It is written by hand.
//
//go:embed openapi.json
var openAPIDocument []byte

// openAPI is the description of this API.
func (s *Server) openAPI(x *exchange) {
	if _, err := parseQuery(x.r.URL.RawQuery, &plainRules); err != nil {
		x.fail(err, false)
		return
	}
	x.json(openAPIDocument)
}
