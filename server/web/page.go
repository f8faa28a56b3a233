package web

import (
	"cmp"
	"net/http"
	"strings"

	"tenure/api"
	"tenure/server/web/ui"
)

// The web page is for people. Its files are the same on every node and need no permission: their data comes from the
// API, which decides as for any client. The rules of hosts.go for hosts and origins hold for them too.

// pageRoute names its routes, and pagePath is its path as people type it.
const pageRoute = "ui"

var pagePath = strings.TrimSuffix(api.PathUI, "/")

// pageHeaders go with every file. Keys and values come from any client. Should the page ever treat one as markup, no
// script and no style in it runs, and nothing is loaded from elsewhere or sent there. No other page may frame it.
var pageHeaders = map[string][]string{
	"Content-Security-Policy": {"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"},
	"X-Content-Type-Options":       noSniff,
	"Referrer-Policy":              {"no-referrer"},
	"Cross-Origin-Opener-Policy":   {"same-origin"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
	// A browser asks each time whether the file has changed, so that all are of one version after an upgrade.
	"Cache-Control": {"no-cache"},
}

// page answers with a file of the web page. It takes no query: a token has no business in the address of a page.
func page(x *exchange) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &probeRules); err != nil {
		return err
	}
	file, found := ui.Find(cmp.Or(x.behind(api.PathUI), ui.Index))
	if !found {
		return refuse(http.StatusNotFound, api.CodeInvalid, "the web page has no such file: it begins at "+api.PathUI)
	}
	h := x.w.Header()
	for name, values := range pageHeaders {
		h[name] = values
	}
	h["Etag"] = []string{file.ETag}
	if x.r.Header.Get("If-None-Match") == file.ETag {
		x.head(http.StatusNotModified, "")
		return nil
	}
	x.send(http.StatusOK, "", []string{file.Type}, file.Body)
	return nil
}

// opensPage reports whether a person has typed the node's bare address into a browser. Programs find out by 404 that
// there is nothing at it.
func opensPage(r *http.Request) bool {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	return read && r.URL.Path == "/" && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// toPage leads to the web page. The address is relative: a proxy may have the node's paths below one of its own.
func toPage(x *exchange) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &probeRules); err != nil {
		return err
	}
	h := x.w.Header()
	h["Location"] = []string{strings.TrimPrefix(api.PathUI, "/")}
	h["Cache-Control"] = noStore
	x.send(http.StatusFound, "", textType, []byte("the web page is at "+api.PathUI+"\n"))
	return nil
}
