package bench

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http/httputil"
	"strconv"

	"tenure/api"
)

// errMalformed is an answer that is not HTTP as a node speaks it.
var errMalformed = errors.New("malformed answer")

const maxHeaderLines = 100

// maxText is the longest body that is kept whole. It is below what a connection buffers.
const maxText = 4 << 10

// reply is what one answer said.
type reply struct {
	code     int  // the HTTP status
	refused  bool // there was a code that is known: why
	why      kind
	start    []byte // the first bytes of the body, at most four
	revision uint64 // api.HeaderRevision; 0 if absent
	index    uint64 // api.HeaderIndex; 0 if absent
	close    bool   // the connection ends with this answer
	length   int64  // of the body; -1: chunked
	whole    bool   // keep the body in text, if it has a length of maxText at most; set by who reads
	text     []byte
	first    [4]byte
}

// read reads one whole answer from in and leaves nothing of it behind.
func (r *reply) read(in *bufio.Reader) error {
	*r = reply{whole: r.whole, text: r.text[:0]}
	line, err := in.ReadSlice('\n')
	if err != nil {
		return lineError(err)
	}
	// HTTP/1.1 200 OK
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[8] != ' ' {
		return errMalformed
	}
	if r.code, err = strconv.Atoi(string(line[9:12])); err != nil {
		return errMalformed
	}
	r.close = line[7] == '0'
	r.length = -2
	for n := 0; ; n++ {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return lineError(err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return r.body(in)
		}
		if n == maxHeaderLines {
			return errMalformed
		}
		if err := r.header(line); err != nil {
			return err
		}
	}
}

func lineError(err error) error {
	if errors.Is(err, bufio.ErrBufferFull) {
		return errMalformed
	}
	return err
}

// header takes what matters from one line.
func (r *reply) header(line []byte) error {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return errMalformed
	}
	name, value := line[:colon], bytes.TrimSpace(line[colon+1:])
	switch {
	case is(name, "Content-Length"):
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < 0 {
			return errMalformed
		}
		r.length = n
	case is(name, "Transfer-Encoding"):
		if !is(value, "chunked") {
			return errMalformed
		}
		r.length = -1
	case is(name, "Connection"):
		r.close = r.close || is(value, "close")
	case is(name, api.HeaderRevision):
		r.revision, _ = strconv.ParseUint(string(value), 10, 64)
	case is(name, api.HeaderError):
		r.why, r.refused = ofCode[api.Code(value)]
	case is(name, api.HeaderIndex):
		r.index, _ = strconv.ParseUint(string(value), 10, 64)
	}
	return nil
}

// is compares without regard to case; the length goes first because it mostly decides.
func is(b []byte, text string) bool { return len(b) == len(text) && bytes.EqualFold(b, []byte(text)) }

// body keeps the first bytes of the body and reads the rest away.
func (r *reply) body(in *bufio.Reader) error {
	var rest io.Reader
	switch {
	case r.length == 0 || r.code == 204 || r.code == 304:
		return nil
	case r.length > 0:
		n := min(r.length, int64(len(r.first)))
		if r.whole && r.length <= maxText {
			n = r.length
		}
		b, err := in.Peek(int(n))
		if err != nil {
			return err
		}
		if r.whole {
			r.text = append(r.text, b...)
		}
		r.start = r.first[:copy(r.first[:], b)]
		return discard(in, r.length)
	case r.length == -1:
		rest = httputil.NewChunkedReader(in)
	default: // until the connection ends
		r.close, rest = true, in
	}
	n, err := io.ReadFull(rest, r.first[:])
	r.start = r.first[:n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	if err == nil {
		_, err = io.Copy(io.Discard, rest)
	}
	if err == nil && r.length == -1 {
		_, err = in.ReadSlice('\n') // the empty line behind the last chunk
	}
	return err
}

// discard reads n bytes away.
func discard(in *bufio.Reader, n int64) error {
	for n > 0 {
		d, err := in.Discard(int(min(n, 1<<20)))
		n -= int64(d)
		if err != nil {
			return err
		}
	}
	return nil
}
