package shorthttp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

var (
	headEnd  = []byte("\r\n\r\n")
	bareEnd  = []byte("\n\n") // which net/http takes, and this package does not
	version  = []byte(" HTTP/1.1\r\n")
	hostName = []byte("host")

	errEnded = errors.New("shorthttp: the connection was ended")
)

// readHead waits for the head of a request and returns what is buffered. Without a whole head in it the request is not for
// this package.
func (c *conn) readHead() ([]byte, error) {
	if _, err := c.br.Peek(1); err != nil {
		return nil, err
	}
	later := c.waiting == phaseIdle
	if !c.enter(c.waiting, phaseHead) {
		return nil, errEnded
	}
	c.waiting = phaseIdle
	for {
		p, _ := c.br.Peek(c.br.Buffered())
		if len(p) == c.br.Size() || bytes.Contains(p, headEnd[1:]) || bytes.Contains(p, bareEnd) {
			return p, nil
		}
		_, err := c.br.Peek(len(p) + 1)
		switch {
		case errors.Is(err, io.EOF) && !(later && len(p) < leastHead):
			return p, nil // net/http says what is wrong with half a head
		case err != nil:
			return nil, err
		}
	}
}

// leastHead is how much net/http must see of another request on a connection before it answers anything.
const leastHead = 4

// request is the request that p begins with, taken out of the buffer, or nil if it is not for this package. Then the buffer
// still has all of it.
func (c *conn) request(p []byte) *http.Request {
	end := bytes.Index(p, headEnd)
	if end < 0 {
		return nil
	}
	head := p[:end+len(headEnd)]
	if !c.takes(head) || !plain(head) {
		return nil
	}
	r, err := parse(head)
	if err != nil || r.Host == "" || r.ContentLength < 0 || len(r.TransferEncoding) > 0 || r.Header["Expect"] != nil || r.Header["Upgrade"] != nil {
		return nil
	}
	_, _ = c.br.Discard(len(head))
	c.body.left = r.ContentLength
	r.Body = http.NoBody
	if r.ContentLength > 0 {
		r.Body = &c.body
	}
	r.RemoteAddr = c.remote
	return r.WithContext(c.ctx)
}

func (c *conn) takes(head []byte) bool {
	line, _, _ := bytes.Cut(head, headEnd[:2])
	method, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(rest) < len(version) || !bytes.HasSuffix(head[:len(line)+2], version) {
		return false
	}
	switch string(method) {
	case http.MethodHead, http.MethodConnect, http.MethodOptions:
		return false
	}
	return c.l.cfg.Takes(method, rest[:len(rest)-len(version)+2])
}

// plain tells whether there is nothing in head that servers have been known to read differently: bare line ends, control
// characters, lines that go on, odd names, more or fewer Hosts than one, odd ones. net/http refuses most of it.
func plain(head []byte) bool {
	hosts := 0
	_, lines, _ := bytes.Cut(head, headEnd[:2])
	for len(lines) > 2 { // the empty line at the end
		line, rest, _ := bytes.Cut(lines, headEnd[:2])
		lines = rest
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !consists(name, inName) || !consists(value, inValue) {
			return false
		}
		if len(name) == len(hostName) && bytes.EqualFold(name, hostName) {
			hosts++
			if value = bytes.Trim(value, " "); len(value) == 0 || !consists(value, inHost) {
				return false
			}
		}
	}
	return hosts == 1
}

// The bytes that are plain in a header's name, in its value, and in a host.
const (
	inName = 1 << iota
	inValue
	inHost
)

var plainBytes = func() (t [256]uint8) {
	for b := range t {
		switch c := byte(b); {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			t[b] = inName | inValue | inHost
		case strings.IndexByte(".:[]", c) >= 0:
			t[b] = inValue | inHost
		case c >= ' ' && c != 0x7f, c == '\t':
			t[b] = inValue
		}
	}
	return t
}()

// consists tells whether all of b is of one kind, and that it is not empty if that must not be.
func consists(b []byte, kind uint8) bool {
	for _, c := range b {
		if plainBytes[c]&kind == 0 {
			return false
		}
	}
	return len(b) > 0 || kind == inValue
}

// parser reads a head from memory.
type parser struct {
	text bytes.Reader
	r    bufio.Reader
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

// parse gives a request whose Body must be replaced.
func parse(head []byte) (*http.Request, error) {
	p := parsers.Get().(*parser)
	p.text.Reset(head)
	p.r.Reset(&p.text)
	r, err := http.ReadRequest(&p.r)
	p.text.Reset(nil)
	parsers.Put(p)
	return r, err
}

// body is what a request has behind its head.
type body struct {
	c    *conn
	left int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.c.br.Read(p)
	b.left -= int64(n)
	switch {
	case b.left == 0:
		b.c.phase.CompareAndSwap(phaseBody, phaseHandler)
		return n, io.EOF
	case errors.Is(err, io.EOF):
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *body) Close() error { return nil }

// skip drops what the handler did not read, if it is here already. False: it is not.
func (b *body) skip() bool {
	if b.left > int64(b.c.br.Buffered()) {
		return false
	}
	_, _ = b.c.br.Discard(int(b.left))
	b.left = 0
	return true
}

// oneLine keeps a header's value within its line.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")
