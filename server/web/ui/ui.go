// Package ui holds the web page that every node has for people: plain HTML, CSS and modules of JavaScript in files/,
// embedded as they are. The node only hands them out. In the browser the page asks the API of that node, with the token
// of whoever looks at it, and may do what that token may.
//
// Rules that the tests keep:
//
//	markup has no script and no style in it    the policy of server/web/page.go forbids both
//	data becomes text, and never markup        keys, values and names are anybody's: files/dom.js is the only way
//	no text hides a part of itself             files/dom.js shows what nobody would see as its number
//	nothing is loaded from elsewhere           a node may have no way out
//	a token is in memory or sessionStorage     never in an address, a cookie or a cache: files/api.js
//	the state of the node once a second,       files/poll.js
//	the rest less often, nothing when hidden
package ui

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"path"
)

// Index is the name of the file that is the page.
const Index = "index.html"

//go:embed files
var embedded embed.FS

// File is one of the files. Nobody changes it.
type File struct {
	Type string // of its content
	ETag string // changes with Body
	Body []byte
}

// types are those of the files by extension; there are no others.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

var files = func() map[string]File {
	all := make(map[string]File)
	list, err := embedded.ReadDir("files")
	if err != nil {
		panic(err)
	}
	for _, entry := range list {
		body, err := embedded.ReadFile("files/" + entry.Name())
		kind := types[path.Ext(entry.Name())]
		if err != nil || kind == "" {
			panic("ui: " + entry.Name() + " cannot be served")
		}
		sum := sha256.Sum256(body)
		all[entry.Name()] = File{Type: kind, ETag: `"` + hex.EncodeToString(sum[:8]) + `"`, Body: body}
	}
	return all
}()

// Find returns the file of that name.
func Find(name string) (File, bool) {
	f, ok := files[name]
	return f, ok
}
