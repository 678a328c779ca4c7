// The browser comes from the system (see e2e/support/find-browser.ts), never from an install step.
module.exports = { skipDownload: true };
