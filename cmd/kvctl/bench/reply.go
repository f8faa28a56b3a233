package bench

import (
	"bufio"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"

	"tenure/api"
)

// errMalformed is an answer that is not HTTP as a node speaks it.
var errMalformed = errors.New("malformed answer")

// maxHead is the longest status line with headers that is read, in bytes, give or take what a connection buffers.
const maxHead = 64 << 10

// maxText is how many bytes of a body are kept.
const maxText = 4 << 10

// reply is what one answer said.
type reply struct {
	code     int      // the HTTP status
	why      api.Code // api.HeaderError; "" if absent
	revision uint64   // api.HeaderRevision; 0 if absent
	index    uint64   // api.HeaderIndex; 0 if absent
	master   uint64   // api.HeaderMaster; 0 if absent
	close    bool     // the connection ends with this answer
	text     []byte   // the body's beginning, up to maxText bytes
}

// replies reads the answers on a connection.
type replies struct {
	source io.LimitedReader
	in     *bufio.Reader // reads source
}

// reset has answers read from nc.
func (s *replies) reset(nc io.Reader) {
	s.source.R = nc
	if s.in == nil {
		s.in = bufio.NewReaderSize(&s.source, 8<<10)
	}
	s.in.Reset(&s.source)
}

// read reads one whole answer into r, and leaves nothing of it behind.
func (s *replies) read(r *reply) error {
	if *r = (reply{text: r.text[:0]}); r.text == nil {
		r.text = make([]byte, 0, maxText)
	}
	s.source.N = maxHead
	a, err := http.ReadResponse(s.in, nil)
	if err != nil {
		return s.headError(err)
	}
	defer a.Body.Close()
	s.source.N = math.MaxInt64
	r.code, r.close, r.why = a.StatusCode, a.Close, api.Code(a.Header.Get(api.HeaderError))
	r.revision, _ = strconv.ParseUint(a.Header.Get(api.HeaderRevision), 10, 64)
	r.index, _ = strconv.ParseUint(a.Header.Get(api.HeaderIndex), 10, 64)
	r.master, _ = strconv.ParseUint(a.Header.Get(api.HeaderMaster), 10, 64)
	for len(r.text) < maxText {
		n, err := a.Body.Read(r.text[len(r.text):maxText])
		r.text = r.text[:len(r.text)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, a.Body)
	return err
}

// kind returns how the request ended, by the answer's code. A failure without a code is not the answer of a node.
func (r *reply) kind() kind {
	if r.code == http.StatusOK {
		return done
	}
	if k, ok := ofCode[r.why]; ok {
		return k
	}
	return otherStatus
}

// headError returns err if the connection has failed, and errMalformed if what came over it is no head of an answer.
func (s *replies) headError(err error) error {
	var failed net.Error
	if errors.As(err, &failed) || s.source.N > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return errMalformed
}
