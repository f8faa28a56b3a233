package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The slack goes to a thread that is not the main one, where that is allowed.
func TestRelaxMonitor(t *testing.T) {
	tid, err := monitorThread()
	if err != nil {
		t.Fatal(err)
	}
	if tid == strconv.Itoa(os.Getpid()) {
		t.Fatal("that is the main thread")
	}
	err = relaxMonitor()
	if errors.Is(err, os.ErrPermission) {
		t.Skip("without CAP_SYS_NICE: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("/proc/" + tid + "/timerslack_ns")
	if err != nil || strings.TrimSpace(string(b)) != strconv.Itoa(monitorSlack) {
		t.Errorf("%s %v", b, err)
	}
	if own, err := os.ReadFile("/proc/self/timerslack_ns"); err != nil || strings.TrimSpace(string(own)) == strconv.Itoa(monitorSlack) {
		t.Errorf("the main thread has %s too: %v", own, err)
	}
}
