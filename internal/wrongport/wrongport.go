// Package wrongport tells a client that has connected to the wrong port of a node which port it is. A node has a port
// for each protocol, and the first bytes of a connection show which one the client speaks.
package wrongport

import (
	"bytes"
	"strings"
)

// Protocol is what a connection speaks.
type Protocol string

// The protocols that can be told from their first bytes.
const (
	Unknown Protocol = ""
	HTTP    Protocol = "HTTP"
	TLS     Protocol = "TLS"
	Redis   Protocol = "the Redis protocol"
	Frames  Protocol = "the protocol between nodes"
)

// Port says what a port is for. Its text follows "a port for".
type Port string

// The ports of a node.
const (
	Peers   Port = "its peers (kvnode --peer)"
	Clients Port = "HTTP (kvnode --client)"
	RESP    Port = "the Redis protocol (kvnode --redis)"
	Health  Port = "health checks and metrics (kvnode --health)"
)

// FirstBytes is how many bytes Of needs; of Frames it needs more.
const FirstBytes = 5

// A frame of the handshake between nodes has these bytes behind its header (package server/wire).
const (
	frameMagic   = "TNUR"
	frameMagicAt = 8
)

// requests are the beginnings of requests of HTTP: methods, cut at FirstBytes, and the preface of HTTP/2.
var requests = []string{"GET /", "PUT /", "POST ", "HEAD ", "DELET", "OPTIO", "PATCH", "CONNE", "TRACE", "PRI *"}

// Of returns the protocol of a client whose first bytes are these.
func Of(first []byte) Protocol {
	if len(first) < FirstBytes {
		return Unknown
	}
	switch {
	case first[0] == 0x16 && first[1] == 3 && first[2] <= 4: // a handshake record
		return TLS
	case first[0] == 0 && len(first) > frameMagicAt && bytes.HasPrefix(first[frameMagicAt:], []byte(frameMagic)):
		return Frames
	case first[0] == '*' && first[1] >= '1' && first[1] <= '9' && bytes.IndexByte(first[:FirstBytes], '\r') > 0:
		return Redis
	}
	for _, r := range requests {
		if string(first[:FirstBytes]) == r {
			return HTTP
		}
	}
	return Unknown
}

// OfAnswer returns the protocol of a server whose first bytes are these.
func OfAnswer(first []byte) Protocol {
	if bytes.HasPrefix(first, []byte("HTTP/")) {
		return HTTP
	}
	return Unknown
}

// For returns the port that a client of the protocol means.
func For(of Protocol) Port {
	switch of {
	case Redis:
		return RESP
	case Frames:
		return Peers
	}
	return Clients
}

// mark begins what a client is told.
const mark = "wrong port: "

// Text says which port this is, and which one the client means.
func Text(of Protocol, here Port) string {
	return mark + "this is the port of a Tenure node for " + string(here) + ", and not for " + string(For(of))
}

// Answer returns the whole answer to a client that speaks a protocol at the port here, or nil if that is unknown. A
// node is answered with HTTP, which no peer speaks.
func Answer(of Protocol, here Port) []byte {
	switch of {
	case HTTP, Frames:
		return []byte("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
			Text(of, here) + "\n")
	case Redis:
		return []byte("-ERR " + Text(of, here) + "\r\n")
	case TLS: // which no client of TLS takes for an answer to it
		return []byte("-ERR this port speaks no TLS\r\n")
	}
	return nil
}

// Told returns the text of an Answer to HTTP that has that body, or "" if it is no such answer.
func Told(body string) string {
	if text, ok := strings.CutPrefix(strings.TrimSpace(body), mark); ok {
		return text
	}
	return ""
}
