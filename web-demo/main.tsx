import './no-eval.ts'
import {createRoot} from 'react-dom/client'
import {App} from './app.tsx'
import {browserServices} from './browser-services.ts'
import {endMarksWithPage} from './crash-mark.ts'
import {pagePerson} from './page-person.ts'
import {registerServiceWorker} from './register-service-worker.ts'
import {forgetWithOtherTabs, shareWhenClosed, warnBeforeLosing} from './unsent.ts'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no element "root".')
pagePerson.followSignIn()
// Before anything is rendered, because a field reads its unsent text when it is first shown.
forgetWithOtherTabs()
createRoot(root).render(<App services={browserServices} />)
endMarksWithPage()
warnBeforeLosing()
shareWhenClosed()
registerServiceWorker()
