package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"tenure/internal/buildinfo"
)

const (
	amazon         = "s3.amazonaws.com"
	defaultRegion  = "us-east-1"
	dialTime       = 5 * time.Second
	metadataTime   = 2 * time.Second
	idleTime       = 30 * time.Second
	stallTime      = time.Minute // a connection without a byte in either direction for so long is broken
	maxConnections = 16
)

// place is the parsed URL of a bucket.
type place struct {
	bucket, prefix   string
	endpoint, region string
	insecure         bool
	lookup           minio.BucketLookupType
	md5              bool
}

// parsePlace parses s3://BUCKET[/PREFIX] with the query parameters
//
//	endpoint=HOST[:PORT], or a URL of it   default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, Amazon
//	region=NAME                            default: AWS_REGION, AWS_DEFAULT_REGION, the one that the server names
//	path-style=true|false                  whether the bucket is part of the path; default: true except at Amazon
//	insecure=true|false                    plain HTTP
//	checksum=crc32c|md5                    the checksum of uploads; md5 is for servers that know no other
func parsePlace(u *url.URL) (place, error) {
	p := place{bucket: u.Host, prefix: strings.Trim(u.Path, "/")}
	if p.bucket == "" || u.Port() != "" {
		return p, fmt.Errorf("%w: of a bucket it is s3://BUCKET/PREFIX?endpoint=HOST:PORT", ErrURL)
	}
	if err := s3utils.CheckValidBucketName(p.bucket); err != nil {
		return p, fmt.Errorf("%w: %w", ErrURL, err)
	}
	if p.prefix != "" {
		if err := CheckName(p.prefix); err != nil {
			return p, fmt.Errorf("%w: prefix: %w", ErrURL, err)
		}
		p.prefix += "/"
	}
	p.endpoint = firstSet("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
	p.region = firstSet("AWS_REGION", "AWS_DEFAULT_REGION")
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return p, fmt.Errorf("%w: what is behind the '?' is no query", ErrURL)
	}
	for key, values := range query {
		if err := p.set(key, values); err != nil {
			return p, err
		}
	}
	if err := p.setEndpoint(); err != nil {
		return p, err
	}
	if p.region == "" && p.endpoint != amazon {
		p.region = defaultRegion // other servers have one region, mostly of this name
	}
	return p, nil
}

// set sets one parameter of the query. An error does not repeat the value of an unknown parameter, which may be a
// secret.
func (p *place) set(key string, values []string) (err error) {
	value := values[0]
	isTrue := false
	switch key {
	case "path-style", "insecure":
		isTrue, err = strconv.ParseBool(value)
	case "checksum":
		if value != "crc32c" && value != "md5" {
			err = errors.New("it is crc32c or md5")
		}
	case "endpoint", "region":
		if value == "" {
			err = errors.New("it is empty")
		}
	default:
		return fmt.Errorf("%w: it has no parameter %q; there are endpoint, region, path-style, insecure and checksum",
			ErrURL, key)
	}
	if len(values) > 1 {
		err = errors.New("it is given twice")
	}
	if err != nil {
		return fmt.Errorf("%w: parameter %s: %w", ErrURL, key, err)
	}
	switch key {
	case "endpoint":
		p.endpoint = value
	case "region":
		p.region = value
	case "insecure":
		p.insecure = isTrue
	case "checksum":
		p.md5 = value == "md5"
	case "path-style":
		p.lookup = minio.BucketLookupDNS
		if isTrue {
			p.lookup = minio.BucketLookupPath
		}
	}
	return nil
}

// setEndpoint reduces the endpoint, which may be a URL, to host and port.
func (p *place) setEndpoint() error {
	if p.endpoint == "" {
		p.endpoint = amazon
		return nil
	}
	if !strings.Contains(p.endpoint, "://") {
		p.endpoint = "//" + p.endpoint
	}
	e, err := url.Parse(p.endpoint)
	if err != nil || e.Host == "" || e.User != nil || strings.Trim(e.Path, "/") != "" || e.RawQuery != "" ||
		e.Scheme != "" && e.Scheme != "http" && e.Scheme != "https" {
		return fmt.Errorf("%w: parameter endpoint: it is HOST[:PORT], http://HOST[:PORT] or https://HOST[:PORT]",
			ErrURL)
	}
	p.insecure = p.insecure || e.Scheme == "http"
	p.endpoint = e.Host
	return nil
}

// firstSet returns the first of the environment variables that is not empty.
func firstSet(variables ...string) string {
	for _, name := range variables {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return ""
}

// newBucket returns the bucket that a URL names. It looks up credentials when they are needed: in the environment, in
// ~/.aws/credentials, and at the metadata service of the machine or the container.
func newBucket(u *url.URL) (Target, error) {
	p, err := parsePlace(u)
	if err != nil {
		return nil, err
	}
	b := &bucket{name: p.bucket, prefix: p.prefix, endpoint: p.endpoint, transport: &failures{Transport: newTransport()}}
	b.text = strings.TrimSuffix("s3://"+p.bucket+"/"+p.prefix, "/")
	if u.RawQuery != "" {
		b.text += "?" + u.RawQuery
	}
	b.creds = credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
		&credentials.IAM{Client: &http.Client{Timeout: metadataTime, Transport: b.transport.Transport}},
	})
	b.core, err = minio.NewCore(p.endpoint, &minio.Options{
		Creds: b.creds, Secure: !p.insecure, Transport: b.transport, Region: p.region, BucketLookup: p.lookup,
		TrailingHeaders: !p.md5, MaxRetries: attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	b.md5 = p.md5
	b.core.SetAppInfo("tenure", buildinfo.Read().Version)
	return b, nil
}

// newTransport returns a transport that bounds every wait for the network.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTime}
	return &http.Transport{
		Proxy: proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &stallConn{c}, nil
		},
		TLSHandshakeTimeout: 2 * dialTime,
		IdleConnTimeout:     idleTime,
		MaxIdleConnsPerHost: maxConnections,
		MaxConnsPerHost:     maxConnections,
		DisableCompression:  true,
	}
}

// proxy returns the proxy that the environment names for a request, if any. It returns none for services on this
// machine or for this machine alone. A proxy must not see the machine's credentials, which the metadata service serves
// at a link-local address, nor services that only this machine reaches.
func proxy(r *http.Request) (*url.URL, error) {
	if isOwn(r.URL.Hostname()) {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}

// metadata has the addresses of Amazon's services for one machine or container by IPv6, which are not link-local.
var metadata = netip.MustParsePrefix("fd00:ec2::/32")

// isOwn reports whether a host is this machine, or a service that its hypervisor or its container has for it alone.
func isOwn(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	addr = addr.Unmap().WithZone("")
	return addr.IsLoopback() || addr.IsLinkLocalUnicast() || metadata.Contains(addr)
}

// stallConn is a connection that fails after no byte has moved in either direction for stallTime. HTTP reads the answer
// while it sends the request, so a write must extend the deadline of reads too.
type stallConn struct{ net.Conn }

func (c *stallConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(stallTime)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *stallConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(stallTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
