// Shared by the page, which imports it for its effect, and the worker, which has only importScripts.
self.families = ({ record }) => ({ note: record() });
