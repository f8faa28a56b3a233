package web

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"tenure/server/admission"
)

// smuggledPut stands behind a request that somebody in front of the node may take for longer than it is.
const smuggledPut = "PUT /v1/kv/hidden HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"

// Where two programs may differ about the end of a request, nothing behind it is carried out: the connection ends.
func TestNoRequestIsSmuggled(t *testing.T) {
	const put, chunked, end = "PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\n", "Transfer-Encoding: chunked\r\n", "0\r\n\r\n"
	length := fmt.Sprintf("Content-Length: %d\r\n", len(end+smuggledPut))
	for name, c := range map[string]struct {
		text string
		code int
	}{
		"a length, then chunks":        {put + length + chunked + "\r\n" + end, 200},
		"chunks, then a length":        {put + chunked + length + "\r\n" + end, 200},
		"chunks on a folded line":      {put + "Transfer-Encoding:\r\n chunked\r\n" + length + "\r\n" + end, 200},
		"chunks behind a tab":          {put + "Transfer-Encoding:\tchunked\r\n" + length + "\r\n" + end, 200},
		"chunks behind a vertical tab": {put + "Transfer-Encoding:\vchunked\r\n" + length + "\r\n" + end, 400},
		"something like chunks":        {put + "Transfer-Encoding: xchunked\r\n" + length + "\r\n" + end, 501},
		"chunks and identity":          {put + "Transfer-Encoding: chunked, identity\r\n\r\n" + end, 501},
		"two encodings":                {put + chunked + "Transfer-Encoding: identity\r\n\r\n" + end, 501},
		"identity":                     {put + "Transfer-Encoding: identity\r\n" + length + "\r\n" + end, 501},
		"chunks in HTTP/1.0": {"PUT /v1/kv/k HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n" + chunked + "\r\n" + end,
			200},
		"two lengths":                 {put + "Content-Length: 0\r\n" + length + "\r\n", 400},
		"a list of lengths":           {put + "Content-Length: 0, 90\r\n\r\n", 400},
		"a length with a sign":        {put + "Content-Length: +0\r\n\r\n", 400},
		"a length beyond 64 bit":      {put + "Content-Length: 18446744073709551616\r\n\r\n", 400},
		"a length in hex":             {put + "Content-Length: 0x0\r\n\r\n", 400},
		"a space before a colon":      {put + "Transfer-Encoding : chunked\r\n\r\n" + end, 400},
		"a bare CR in a header":       {put + "X: a\rContent-Length: 90\r\nContent-Length: 0\r\n\r\n", 400},
		"a chunk in 0x":               {put + chunked + "\r\n0x0\r\n\r\n", 400},
		"a chunk with a plus":         {put + chunked + "\r\n+0\r\n\r\n", 400},
		"a chunk with a minus":        {put + chunked + "\r\n-1\r\n\r\n", 400},
		"a chunk of 2^64":             {put + chunked + "\r\n10000000000000000\r\n\r\n", 400},
		"a chunk without a size":      {put + chunked + "\r\n\r\n\r\n", 400},
		"an extension with a LF":      {put + chunked + "\r\n5;a\nhello\r\n" + end, 400},
		"chunks with bare LF":         {put + chunked + "\r\n0\n\n", 400},
		"a chunk longer than it says": {put + chunked + "\r\n1\r\naXX" + end, 400},
	} {
		f := newFake(t)
		got := say(t, serve(t, newServer(t, f)), c.text+smuggledPut)
		if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", c.code)) && !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.0 %d ", c.code)) {
			t.Errorf("%s: %q", name, got)
		}
		if strings.Count(got, "HTTP/1.") != 1 || f.last.Key == "hidden" {
			t.Errorf("%s: what stood behind it was carried out: %q", name, got)
		}
	}
}

// No header says who a client is or lets anybody in, as CVE-2018-16886 did for etcd behind a proxy: not its address,
// and not its certificate.
func TestNoHeaderOfAProxyIsBelieved(t *testing.T) {
	_, addr := limited(t, newFake(t), admission.Limits{Rate: admission.Rate{Mode: admission.Enforcing, PerSecond: 1, Burst: 1}})
	refused := 0
	for i := range 10 {
		c := dialFrom(t, "127.0.0.66", addr)
		fmt.Fprintf(c, "GET /v1/kv/k HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.%[1]d\r\nX-Real-Ip: 192.0.2.%[1]d\r\n"+
			"Forwarded: for=192.0.2.%[1]d\r\nTrue-Client-Ip: 192.0.2.%[1]d\r\nX-Consul-Token: %[1]d\r\nConnection: close\r\n\r\n", i)
		got, _ := io.ReadAll(c)
		if strings.HasPrefix(string(got), "HTTP/1.1 429 ") {
			refused++
		}
	}
	if refused < 7 {
		t.Errorf("%d of 10 requests were refused: a client can give itself another name for each", refused)
	}
}
