// Package scrape reads pages and figures of the programs under test.
package scrape

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"tenure/api"
)

// maxPage is how much of a page is read, in bytes.
const maxPage = 16 << 20

// Get returns the page at url, up to 16 MiB of it. A token that is not empty is sent along. Any status but 200 is an
// error, which quotes the page's beginning.
func Get(ctx context.Context, c *http.Client, url, token string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set(api.HeaderToken, token)
	}
	rsp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer rsp.Body.Close()
	page, err := io.ReadAll(io.LimitReader(rsp.Body, maxPage))
	if err == nil && rsp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %.200s", url, rsp.StatusCode, page)
	}
	return page, err
}

// Numbers returns the number behind each prefix that begins a line, as a page of metrics or a file of /proc has them.
// It fails if no line begins so.
func Numbers(page []byte, prefix string) (all []float64, err error) {
	lines := bufio.NewScanner(bytes.NewReader(page))
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), prefix)
		if !ok {
			continue
		}
		var x float64
		if _, err := fmt.Sscan(rest, &x); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(prefix), err)
		}
		all = append(all, x)
	}
	if len(all) == 0 && lines.Err() == nil {
		return nil, fmt.Errorf("%s is not there", strings.TrimSpace(prefix))
	}
	return all, lines.Err()
}
