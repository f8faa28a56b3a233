package web

import _ "embed"

// openAPIDocument describes every route: a test holds it against the table of routes and the query names. It is written
// by hand.
//
//go:embed openapi.json
var openAPIDocument []byte

// openAPI answers with the description of this API.
func openAPI(x *exchange) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &plainRules); err != nil {
		return err
	}
	x.json(openAPIDocument)
	return nil
}
