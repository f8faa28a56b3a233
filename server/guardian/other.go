//go:build !linux

package guardian

// Main refuses: see ErrUnsupported.
func Main() error { return ErrUnsupported }

type files struct{}

type child struct{}

func makeFiles() (page, files, error) { return page{}, files{}, ErrUnsupported }

func (k *Process) release() error { return nil }

func startChild([]string, files) (*child, error) { return nil, ErrUnsupported }

func (c *child) pid() int { return 0 }

func (c *child) kill() {}

func (c *child) wait() string { return ErrUnsupported.Error() }
